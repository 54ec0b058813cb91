/** Takes noise out of a recording's sound, and copies its picture. */
import { conversionFailed, inputLimit } from '../../../../../errors.ts';
import { MAX_RECORDING_SECONDS, MAX_SOUND_BYTES } from '../../../../bounds.ts';
import type { Plan, Task } from '../../../../engine.ts';
import { modelStep } from '../../../../planning/told.ts';
import { command, dropped, tags } from '../command.ts';
import { AUDIO, VIDEO } from '../containers.ts';
import { encodeAudio, VIDEO_ENCODERS } from '../encoders.ts';
import { type AudioStream, mediaOf, type VideoStream } from '../streams.ts';
import { timeline } from '../timeline.ts';
import { soundAsItIs, videoAsItIs } from './keep.ts';

/** What the filter is late by: two of the steps, of which it takes 80 a second. */
const LATE = 0.025;
/** What is steady is taken for noise and lowered by 20 dB, frequency by frequency (ffmpeg-filters, "afftdn"). */
const NOISE = `apad=pad_dur=${LATE},afftdn=nr=20:nf=-30`;
/** Sound alone begins at nothing. Beside a picture it stays where it is, which may be later than the picture's beginning. */
const [ALONE, BESIDE] = [
  `asetpts=PTS-STARTPTS,${NOISE},atrim=start=${LATE},asetpts=PTS-STARTPTS`,
  `${NOISE},asetpts=PTS-${LATE}/TB,atrim=start=0`,
];
/** Sample rate of the model's input, Hz. */
const MODEL_RATE = 48_000;
/** Nearly lossless, for a picture that the container cannot hold as it is. */
const NEAR_CRF = 18;

/** Lowers what is steady. @throws Failure `no_stream` if there is no sound */
export function planDenoised(task: Task): Plan {
  const { sound, picture, encode } = recordingOf(task);
  const filters = picture === undefined ? ALONE : BESIDE;
  return encode({ map: `0:${sound.index}`, stream: sound, filters });
}

/** Leaves speech alone, by `exec/programs/sound/denoise.ts`. @throws Failure `no_stream` if there is no sound · `input_limit` */
export function planVoice(task: Task): Plan {
  const { sound, picture, encode } = recordingOf(task);
  const { duration = 0 } = mediaOf(task.facts);
  const secondsOf = (bits: number) => Math.floor(MAX_SOUND_BYTES / (MODEL_RATE * sound.channels * (bits / 8)));
  const deep = sound.bits > 16 && duration <= secondsOf(32);
  const most = Math.min(MAX_RECORDING_SECONDS, secondsOf(deep ? 32 : 16));
  if (duration > most) throw inputLimit('seconds', most, Math.ceil(duration));
  const samples = deep ? 'pcm_f32le' : 'pcm_s16le';
  // It keeps the places of the channels.
  const wav = `${task.scratch}/sound.wav`;
  // As above; gaps in it become silence.
  const placed = picture === undefined ? 'asetpts=PTS-STARTPTS,aresample=async=1' : 'aresample=async=1:first_pts=0';
  const decode = command({
    task,
    timeline: timeline(task),
    full: true,
    encode: [
      ...(picture === undefined ? [] : timedBy(picture)),
      ...['-map', `0:${sound.index}`, '-vn', '-sn', '-dn', '-af', placed, '-ar', `${MODEL_RATE}`],
      // Its length may not be what the file says.
      ...['-t', `${most + 1}`, '-c:a', samples, '-f', 'wav'],
    ],
    to: wav,
  });
  const { warnings = [], steps } = encode({
    inputs: ['-i', wav],
    ...(picture === undefined ? {} : { before: timedBy(sound) }),
    map: '1:0',
    stream: { ...sound, rate: MODEL_RATE },
  });
  const lacks = sound.rate > MODEL_RATE ? [{ code: 'lossy', message: 'Frequencies above 24 kHz are not kept.' }] : [];
  return { warnings: [...warnings, ...lacks], steps: [decode, modelStep('denoise', [wav, `${most}`], { input: wav }), ...steps] };
}

/** In some formats time begins with the first stream that is used: a stream is read, and goes nowhere, so that sound and picture begin at the same time. */
const timedBy = ({ index }: { readonly index: number }): readonly string[] => ['-map', `0:${index}`, '-c', 'copy', '-f', 'null', '-'];

interface Source {
  /** Other outputs of the same command. */
  readonly before?: readonly string[];
  readonly inputs?: readonly string[];
  /** Value of FFmpeg's `-map`. */
  readonly map: string;
  readonly stream: AudioStream;
  readonly filters?: string;
}

/** @returns the sound to work on, the picture if the result has one, and what encodes a sound in place of the first */
function recordingOf(task: Task): {
  readonly sound: AudioStream;
  readonly picture: VideoStream | undefined;
  readonly encode: (from: Source) => Plan;
} {
  const { source, target, output, facts } = task;
  const { audio, video, covers } = mediaOf(facts);
  const [sound, picture] = [audio[0], target in AUDIO ? undefined : video[0]];
  if (sound === undefined) throw conversionFailed('no_stream');
  const container = target in AUDIO ? soundAsItIs(task) : undefined;
  const film = videoAsItIs(task);
  const encoder = container?.encode ?? film?.sound;
  if (encoder === undefined) throw conversionFailed('no_stream');
  const copies =
    film !== undefined && picture !== undefined && ((film.takesBack && source === target) || film.video.includes(picture.codec));
  const cover = container?.cover ? covers.find(({ codec }) => codec === 'mjpeg' || codec === 'png') : undefined;
  const kept = 1 + (picture === undefined ? 0 : 1) + (cover === undefined ? 0 : 1);
  const encode = ({ before = [], inputs = [], map, stream, filters }: Source): Plan => ({
    warnings: dropped(audio.length + (target in AUDIO ? 0 : video.length) + covers.length - kept),
    steps: [
      command({
        task,
        timeline: timeline(task),
        inputs,
        full: true,
        encode: [
          ...before,
          ...(picture === undefined
            ? []
            : ['-map', `0:${picture.index}`, ...(copies ? ['-c:v', 'copy'] : VIDEO_ENCODERS[film?.encoders[0] ?? 'h264'](NEAR_CRF))]),
          ...['-map', map, ...filtered(encodeAudio(encoder, stream, { rate: sound.rate }), filters)],
          ...(cover === undefined ? [] : ['-map', `0:${cover.index}`, '-c:v', 'copy', '-disposition:v:0', 'attached_pic']),
          ...['-sn', '-dn'],
          ...tags(source, sound.index, false),
          ...((container ?? film ?? VIDEO['mp4'])?.muxer ?? []),
        ],
        to: `${output}/out.${target}`,
      }),
    ],
  });
  return { sound, picture, encode };
}

/** Before the filters that the encoder needs, if it needs any. */
function filtered(args: readonly string[], filters: string | undefined): readonly string[] {
  if (filters === undefined) return args;
  const at = args.indexOf('-af');
  return at < 0 ? ['-af', filters, ...args] : args.with(at + 1, `${filters},${args[at + 1]}`);
}
