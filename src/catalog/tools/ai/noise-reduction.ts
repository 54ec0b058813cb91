/** A recording without its noise. */
import { z } from 'zod';
import { AUDIO } from '../../engines/media/ffmpeg/containers.ts';
import { planDenoised, planVoice } from '../../engines/media/ffmpeg/operations/denoise.ts';
import { engine as classical } from '../../engines/media/separate.ts';
import { engine as deepfilternet } from '../../engines/media/voice.ts';
import { modelName } from '../../options/fields.ts';
import { ONE_FILE, type Tool } from '../../tool.ts';
import { SOUNDS, soundTarget, VIDEOS, videoTarget } from '../../tool-families/media.ts';
import { boundedRecording, recordingBounds } from '../../tool-families/recording.ts';

export const tool: Tool = {
  slug: 'noise-reduction',
  summary: 'Removes noise from a recording of speech, or from the sound of a video, whose picture is copied.',
  search: {
    en: 'denoise, hiss, hum, background noise, wind, clean up',
    de: 'Rauschen, entrauschen, Brummen, Störgeräusche, Wind',
    es: 'ruido, limpiar, siseo, zumbido, viento',
  },
  family: 'ai',
  accepts: [...SOUNDS, ...VIDEOS],
  files: ONE_FILE,
  bounds: recordingBounds(),
  input: z.object({ model: modelName.optional() }),
  example: { model: 'classical' },
  texts: {
    model: {
      means: `Method: ${deepfilternet.name}, the default where it is installed, keeps only speech; classical reduces steady noise, and keeps music and all other sounds.`,
    },
  },
  daily: 50,
  mcp: {
    place: 8,
    title: 'Reduce noise',
    description: 'Removes all but speech from audio or video.',
    params: { model: { means: 'Keeps music: classical.' } },
  },
  work: {
    target: ([source = '']) => (SOUNDS.includes(source) || source in AUDIO ? soundTarget(source) : videoTarget(source)),
    methods: [
      { engine: deepfilternet, plan: (order) => planVoice(boundedRecording(order)) },
      { engine: classical, plan: (order) => planDenoised(boundedRecording(order)) },
    ],
  },
};
