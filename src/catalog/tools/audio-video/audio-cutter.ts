/** Cuts a range out of an audio file, exact to the sample or between packets. */
import { planSoundCopied } from '../../engines/media/ffmpeg/operations/copy.ts';
import { soundAsItIs } from '../../engines/media/ffmpeg/operations/keep.ts';
import { planSound } from '../../engines/media/ffmpeg/sound.ts';
import { engine } from '../../engines/media/ffmpeg.ts';
import { ONE_FILE, type Tool, taskOf } from '../../tool.ts';
import { CUT, checkCut, cutOf, SOUNDS, soundTarget } from '../../tool-families/media.ts';

export const tool: Tool = {
  slug: 'audio-cutter',
  summary: 'Cuts a recording to a time range: exactly, or fast without re-encoding.',
  search: {
    en: 'trim, shorten, ringtone, clip, split song, mp3',
    de: 'schneiden, kürzen, Klingelton, Ausschnitt, MP3',
    es: 'cortar, recortar, acortar, tono de llamada, MP3',
  },
  family: 'audio_video',
  accepts: SOUNDS,
  files: ONE_FILE,
  input: CUT,
  example: { start_time: '10', end_time: '00:00:40' },
  check: checkCut,
  texts: {
    mode: { means: 'exact re-encodes and cuts to the sample; fast copies, and cuts at the nearest packet.' },
  },
  work: {
    target: ([source = '']) => soundTarget(source),
    methods: [
      {
        engine,
        plan: (order) => {
          const task = taskOf(order, cutOf(order.input));
          return order.input['mode'] === 'fast' ? planSoundCopied(task) : planSound(task, soundAsItIs(task));
        },
      },
    ],
  },
};
