/** Cuts a range out of a video, exact to the frame or from a key frame. */
import { planVideoCopied } from '../../engines/media/ffmpeg/operations/copy.ts';
import { videoAsItIs } from '../../engines/media/ffmpeg/operations/keep.ts';
import { planVideo } from '../../engines/media/ffmpeg/video.ts';
import { engine } from '../../engines/media/ffmpeg.ts';
import { ONE_FILE, type Tool, taskOf } from '../../tool.ts';
import { CUT, checkCut, cutOf, VIDEOS, videoTarget } from '../../tool-families/media.ts';

export const tool: Tool = {
  slug: 'trim-video',
  summary: 'Cuts a video to a time range: exactly to the frame, or fast from a key frame on, without re-encoding.',
  search: { en: 'cut, shorten, clip, start, end', de: 'schneiden, kürzen, Ausschnitt', es: 'cortar, recortar, acortar, fragmento' },
  family: 'audio_video',
  accepts: VIDEOS,
  files: ONE_FILE,
  input: CUT,
  example: { start_time: '10', end_time: '00:00:40' },
  check: checkCut,
  texts: {
    mode: { means: 'exact re-encodes and cuts to the frame; fast copies, and begins at a key frame.' },
  },
  work: {
    target: ([source = '']) => videoTarget(source),
    methods: [
      {
        engine,
        plan: (order) => {
          const task = taskOf(order, cutOf(order.input));
          return order.input['mode'] === 'fast' ? planVideoCopied(task) : planVideo(task, { container: videoAsItIs(task) });
        },
      },
    ],
  },
};
