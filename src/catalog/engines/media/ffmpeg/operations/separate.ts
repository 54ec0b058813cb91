/** Splits a stereo recording into two, by `exec/programs/sound/separate.ts`. */
import { conversionFailed, inputLimit } from '../../../../../errors.ts';
import type { Plan, ProcessStep, Task } from '../../../../engine.ts';
import { progressTold } from '../../../../planning/told.ts';
import { command, THREADS } from '../command.ts';
import { AUDIO } from '../containers.ts';
import { encodeAudio, mixed } from '../encoders.ts';
import { mediaOf } from '../streams.ts';
import { timeline } from '../timeline.ts';

/** Voices and instruments need no more, and an hour of it is 640 MB. */
const RATE = 44_100;
/** Results that are not compressed, or a little, fit into the folder beside the samples of so many seconds. */
const MAX_SECONDS_WHOLE = 30 * 60;

const TOO_LONG_WHOLE = 'As FLAC or WAV, vocals and instruments of half an hour can be had; send format=mp3 for up to an hour.';

/** What separates. */
export interface Separating {
  /** @param sound path of the samples, which become those of the instruments @param vocals path of a new file */
  readonly separate: (sound: string, vocals: string) => ProcessStep;
  /** Whether one channel is enough. */
  readonly takesMono: boolean;
}

const byPlace: Separating = {
  separate: (sound, vocals) => ({ run: 'separate', args: [sound, vocals, `${RATE}`], progress: progressTold }),
  takesMono: false,
};

/** @throws Failure `no_stream` if there is no sound, or only one channel where two are needed · `input_limit` */
export function planSeparated(task: Task, { separate, takesMono }: Separating = byPlace): Plan {
  const { target, output, scratch, facts } = task;
  const [sound] = mediaOf(facts).audio;
  const container = AUDIO[target];
  if (sound === undefined || container === undefined) throw conversionFailed('no_stream');
  if (sound.channels === 1 && !takesMono)
    throw conversionFailed('no_stream', {
      says: 'The recording is mono: without a model, vocals are separated from instruments by their position between left and right.',
    });
  const { duration = 0 } = mediaOf(facts);
  if (target !== 'mp3' && duration > MAX_SECONDS_WHOLE) throw inputLimit('seconds', MAX_SECONDS_WHOLE, Math.ceil(duration), TOO_LONG_WHOLE);
  const raw = (name: string) => `${scratch}/${name}.raw`;
  const decode = command({
    task,
    timeline: timeline(task),
    full: true,
    encode: ['-map', `0:${sound.index}`, '-vn', '-sn', '-dn', '-ac', '2', '-ar', `${RATE}`, '-c:a', 'pcm_s16le', '-f', 's16le'],
    to: raw('instrumental'),
  });
  const split = separate(raw('instrumental'), raw('vocals'));
  const stream = { ...sound, rate: RATE, channels: 2, bits: 16, float: false };
  const encode = (name: string): ProcessStep => ({
    run: 'ffmpeg',
    args: [
      ...[
        '-nostdin',
        '-hide_banner',
        '-y',
        '-v',
        'error',
        '-protocol_whitelist',
        'file',
        '-f',
        's16le',
        '-ar',
        `${RATE}`,
        '-ac',
        '2',
        '-i',
        raw(name),
      ],
      ...encodeAudio(container.encode, stream, {}),
      ...container.muxer,
      ...['-threads', THREADS],
      `${output}/${name}.${target}`,
    ],
  });
  const warnings = mixed(sound.channels, 2);
  return { steps: [decode, split, encode('vocals'), encode('instrumental')], warnings };
}
