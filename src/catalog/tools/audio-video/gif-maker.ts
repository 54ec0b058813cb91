/** An animation out of a video, or out of pictures. */
import { z } from 'zod';
import { Failure } from '../../../errors.ts';
import { ANIMATIONS, PICTURE_DEMUXERS } from '../../engines/media/ffmpeg/containers.ts';
import { planFrames } from '../../engines/media/ffmpeg/operations/frames.ts';
import { MAX_GIF_SECONDS, planGif } from '../../engines/media/ffmpeg/operations/pictures.ts';
import { probePicture, probeStep, readProbe } from '../../engines/media/ffmpeg/probe.ts';
import { engine } from '../../engines/media/ffmpeg.ts';
import { integer } from '../../options/fields.ts';
import { type Tool, taskOf } from '../../tool.ts';
import { VIDEOS } from '../../tool-families/media.ts';

const PICTURES = [...Object.keys(PICTURE_DEMUXERS), 'apng'];
const MOST_PICTURES = 100;

export const tool: Tool = {
  slug: 'gif-maker',
  summary: 'Makes an animated GIF from a video of up to a minute, or from 2 to 100 pictures.',
  search: {
    en: 'animation, animated, meme, video to gif, loop',
    de: 'Animation, animiert, Video zu GIF, Schleife',
    es: 'animación, animado, meme, vídeo a GIF, bucle',
  },
  family: 'audio_video',
  accepts: [...VIDEOS, ...PICTURES],
  files: { fields: ['file', 'files[]', 'files'], min: 1, max: MOST_PICTURES },
  bounds: { maxSeconds: MAX_GIF_SECONDS },
  input: z.object({
    fps: integer(1, 30, ' frames a second').prefault('10'),
    width: integer(16, 1920, ' px').prefault('480'),
  }),
  example: { fps: '12', width: '480' },
  texts: {
    fps: { means: 'Frame rate of the animation.' },
    width: { means: 'Width of the animation; its height keeps the aspect ratio.' },
  },
  work: {
    target: (sources) => {
      refuseMixture(sources);
      return 'gif';
    },
    methods: [
      {
        engine,
        inspect: {
          step: (input, task) => (moves(task.source) ? probeStep(input, task) : probePicture(input, task)),
          read: readProbe,
        },
        plan: (order) => {
          const { sources, input } = order;
          const [fps, width] = [Number(input['fps']), Number(input['width'])];
          return sources.length === 1
            ? planGif(taskOf(order, { video_fps: fps, video_width: width }))
            : planFrames({ ...order, fps, width });
        },
      },
    ],
  },
};

const moves = (source: string): boolean => ANIMATIONS.has(source) || VIDEOS.includes(source);

/** @throws Failure `BAD_REQUEST` */
function refuseMixture(sources: readonly string[]): void {
  const says =
    sources.length === 1
      ? moves(sources[0] ?? '')
        ? undefined
        : `An animation needs 2 or more pictures: send 2 to ${MOST_PICTURES} in the field "files[]", or a video in the field "file".`
      : sources.some((source) => VIDEOS.includes(source))
        ? 'Send one video alone, in the field "file"; several files must be pictures.'
        : undefined;
  if (says !== undefined) throw new Failure('BAD_REQUEST', { says });
}
