/** A video in fewer bytes, by a preset or to a bit rate. */
import { z } from 'zod';
import { type Preset, planAtRate, planCompressed, presets } from '../../engines/media/ffmpeg/operations/compress.ts';
import { engine } from '../../engines/media/ffmpeg.ts';
import { integer, oneOf } from '../../options/fields.ts';
import { ONE_FILE, refuseField, type Tool, taskOf } from '../../tool.ts';
import { VIDEOS, videoTarget } from '../../tool-families/media.ts';

export const tool: Tool = {
  slug: 'compress-video',
  summary: 'Makes a video smaller, by a preset or to a bit rate; never larger than it was.',
  search: {
    en: 'shrink, reduce size, smaller, too large, whatsapp, email',
    de: 'verkleinern, komprimieren, kleiner, zu groß, WhatsApp, E-Mail',
    es: 'comprimir, reducir tamaño, más pequeño, WhatsApp, correo',
  },
  family: 'audio_video',
  accepts: VIDEOS,
  files: ONE_FILE,
  input: z.object({ preset: oneOf(presets).optional(), bitrate: integer(100, 50_000, ' kbit/s of picture and sound together').optional() }),
  example: { preset: 'small' },
  check: ({ preset, bitrate }) => {
    if (preset !== undefined && bitrate !== undefined)
      throw refuseField('bitrate', `${bitrate}`, 'no value together with preset: send only one of them');
  },
  neverLarger: true,
  texts: {
    preset: { means: 'How small: small is smallest, high looks best. Default: medium, where no bitrate is sent.' },
    bitrate: { means: 'Target bit rate, instead of a preset.' },
  },
  work: {
    target: ([source = '']) => videoTarget(source),
    methods: [
      {
        engine,
        plan: (order) => {
          const { preset = 'medium', bitrate } = order.input;
          const task = taskOf(order);
          return typeof bitrate === 'number' ? planAtRate(task, bitrate) : planCompressed(task, preset as Preset);
        },
      },
    ],
  },
};
