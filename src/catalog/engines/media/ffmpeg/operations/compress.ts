/** Compresses a video, to a quality or to a bit rate. */
import { conversionFailed } from '../../../../../errors.ts';
import type { Plan, Task } from '../../../../engine.ts';
import { VIDEO, type VideoContainer } from '../containers.ts';
import { CODEC_NAMES, encodeAtRate, inTwoPasses, LEAST_SIDES, type VideoEncoderId } from '../encoders.ts';
import { mediaOf } from '../streams.ts';
import { planVideo, type Treatment } from '../video.ts';

/** `crf` on the scale of libx264; `sound` in kbit/s for each track. */
const PRESETS = {
  small: { crf: 34, sound: 64 },
  medium: { crf: 28, sound: 96 },
  high: { crf: 23, sound: 128 },
} as const;
export type Preset = keyof typeof PRESETS;
export const presets = Object.keys(PRESETS) as [Preset, ...Preset[]];

/** Codecs that need no more bits than H.264: they are kept. */
const EFFICIENT: readonly VideoEncoderId[] = ['h265', 'av1', 'vp9', 'vp8'];

/** Bounds on the bit rate of all audio together, kbit/s, and its share of the total within them. */
const SOUND = { least: 32, most: 128, share: 1 / 6 };
/** Limit of one video stream in an MPEG program stream, kbit/s: what the container's own limit leaves. */
const MOST_PROGRAM = 15_000;

/** @throws Failure `no_stream` without video */
export function planCompressed(task: Task, preset: Preset): Plan {
  const { crf, sound } = PRESETS[preset];
  return planVideo({ ...task, options: { ...task.options, video_crf: crf, ...soundAt(task, sound) } }, { container: efficient(task) });
}

/** @param kbits of video and audio together @throws Failure `no_stream` without video */
export function planAtRate(task: Task, kbits: number): Plan {
  const container = efficient(task);
  const { audio } = mediaOf(task.facts);
  const tracks = container.many ? audio.length : Math.min(1, audio.length);
  const perTrack = tracks === 0 ? 0 : Math.max(SOUND.least, Math.floor(Math.min(SOUND.most, kbits * SOUND.share) / tracks));
  const sound = soundAt(task, perTrack);
  const soundKbits =
    sound.audio_bitrate === undefined ? audio.slice(0, tracks).reduce((sum, { bitrate = 0 }) => sum + bitrate, 0) : perTrack * tracks;
  const rest = Math.max(Math.round(kbits / 2), Math.round(kbits - soundKbits));
  const picture = container.encode?.includes('-maxrate') ? Math.min(rest, MOST_PROGRAM) : rest;
  const given: Task = { ...task, options: { ...task.options, video_crf: 0, ...sound } };
  const id = container.encoders[0] ?? 'h264';
  const pass = (number: 1 | 2): Treatment['encoder'] =>
    inTwoPasses(id)
      ? (codec) => [...encodeAtRate(codec, picture), '-pass', `${number}`, '-passlogfile', `${task.scratch}/pass`]
      : (codec) => encodeAtRate(codec, picture);
  const last = planVideo(given, { container, encoder: pass(2) });
  if (!inTwoPasses(id)) return last;
  return {
    ...last,
    steps: [...planVideo(pictureAlone(given), { container, encoder: pass(1) }).steps, ...last.steps],
  };
}

/** The first pass only gathers statistics, but needs the same container: with another it would drop or repeat other frames than the second. */
const pictureAlone = (task: Task): Task => ({
  ...task,
  output: task.scratch,
  facts: { media: { ...mediaOf(task.facts), audio: [], subtitles: [] } },
});

/** Audio that is already within the bit rate is kept. */
function soundAt({ facts }: Task, kbits: number): { readonly audio_bitrate?: number } {
  const { audio } = mediaOf(facts);
  return audio.every(({ bitrate }) => bitrate !== undefined && bitrate <= kbits + 1) ? {} : { audio_bitrate: kbits };
}

/** The container, with the video's own codec first if that is efficient. */
function efficient({ target, facts }: Task): VideoContainer {
  const container = VIDEO[target];
  const picture = mediaOf(facts).video[0];
  if (container === undefined || picture === undefined) throw conversionFailed('no_stream');
  const { width, height, codec } = picture;
  const id = EFFICIENT.find((one) => CODEC_NAMES[one] === codec && container.encoders.includes(one));
  if (id === undefined || Math.min(width, height) < (LEAST_SIDES[id] ?? 2)) return container;
  return { ...container, encoders: [id, ...container.encoders], encode: [] };
}
