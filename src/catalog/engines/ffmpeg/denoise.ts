/** Takes steady noise out of a recording's sound, and copies its picture. */
import { conversionFailed } from '../../../errors.ts';
import type { Plan, Task } from '../../engine.ts';
import { command, dropped, tags } from './command.ts';
import { AUDIO, VIDEO } from './containers.ts';
import { encodeAudio, VIDEO_ENCODERS } from './encoders.ts';
import { soundAsItIs, videoAsItIs } from './keep.ts';
import { mediaOf } from './streams.ts';
import { timeline } from './timeline.ts';

/** What the filter is late by: two of the steps, of which it takes 80 a second. */
const LATE = 0.025;
/** What is steady is taken for noise and lowered by 20 dB, frequency by frequency (ffmpeg-filters, "afftdn"). */
const NOISE = `apad=pad_dur=${LATE},afftdn=nr=20:nf=-30`;
/** Sound alone begins at nothing. Beside a picture it stays where it is, which may be later than the picture's beginning. */
const [ALONE, BESIDE] = [
  `asetpts=PTS-STARTPTS,${NOISE},atrim=start=${LATE},asetpts=PTS-STARTPTS`,
  `${NOISE},asetpts=PTS-${LATE}/TB,atrim=start=0`,
];
/** Nearly lossless, for a picture that the container cannot hold as it is. */
const NEAR_CRF = 18;

/** @throws Failure `no_stream` if there is no sound */
export function planDenoised(task: Task): Plan {
  const { source, target, output, facts } = task;
  const { audio, video, covers } = mediaOf(facts);
  const [sound, picture] = [audio[0], target in AUDIO ? undefined : video[0]];
  if (sound === undefined) throw conversionFailed('no_stream');
  const time = timeline(task);
  const container = target in AUDIO ? soundAsItIs(task) : undefined;
  const film = videoAsItIs(task);
  const encoder = container?.encode ?? film?.sound;
  if (encoder === undefined) throw conversionFailed('no_stream');
  const copies =
    film !== undefined && picture !== undefined && ((film.takesBack && source === target) || film.video.includes(picture.codec));
  const cover = container?.cover ? covers.find(({ codec }) => codec === 'mjpeg' || codec === 'png') : undefined;
  const kept = 1 + (picture === undefined ? 0 : 1) + (cover === undefined ? 0 : 1);
  return {
    warnings: dropped(audio.length + (target in AUDIO ? 0 : video.length) + covers.length - kept),
    steps: [
      command({
        task,
        timeline: time,
        full: true,
        encode: [
          ...(picture === undefined
            ? []
            : ['-map', `0:${picture.index}`, ...(copies ? ['-c:v', 'copy'] : VIDEO_ENCODERS[film?.encoders[0] ?? 'h264'](NEAR_CRF))]),
          ...['-map', `0:${sound.index}`, ...filtered(encodeAudio(encoder, sound, {}), picture === undefined ? ALONE : BESIDE)],
          ...(cover === undefined ? [] : ['-map', `0:${cover.index}`, '-c:v', 'copy', '-disposition:v:0', 'attached_pic']),
          ...['-sn', '-dn'],
          ...tags(source, sound.index, false),
          ...((container ?? film ?? VIDEO['mp4'])?.muxer ?? []),
        ],
        to: `${output}/out.${target}`,
      }),
    ],
  };
}

/** Before the filters that the encoder needs, if it needs any. */
function filtered(args: readonly string[], filters: string): readonly string[] {
  const at = args.indexOf('-af');
  return at < 0 ? ['-af', filters, ...args] : args.with(at + 1, `${filters},${args[at + 1]}`);
}
