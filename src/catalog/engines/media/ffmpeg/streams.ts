/** The streams of a recording, from the inspection to the plans. */
import type { Facts } from '../../../engine.ts';

export interface Common {
  /** Its index in the file, for `-map 0:<index>`. */
  readonly index: number;
  readonly codec: string;
}

export interface VideoStream extends Common {
  /** How they are stored, as FFmpeg names it. */
  readonly pixels: string;
  /** Pixels as stored. */
  readonly width: number;
  readonly height: number;
  /** Frames per second, 0 if unknown. */
  readonly fps: number;
  /** For an animation: how many seconds each frame is shown, and the frames per second at which each has its time, unless they are too many. */
  readonly shown?: { readonly times: readonly number[]; readonly rate: number };
  readonly rotated: boolean;
  /** It is displayed rotated by 90 or 270 degrees. */
  readonly upended: boolean;
  /** Width of a pixel over its height, 1 if unknown. */
  readonly aspect: number;
  /** Frames are stored in another order than they are displayed. */
  readonly reordered: boolean;
  /** Seconds of this stream alone; undefined if the file does not state it. */
  readonly seconds: number | undefined;
  /** How its values become light, as FFmpeg names it: `smpte2084` (PQ), `arib-std-b67` (HLG); undefined for all that screens show as it is. */
  readonly transfer: string | undefined;
  /** By which red, green and blue became what is stored, as FFmpeg names it; undefined where the file does not say. */
  readonly matrix: string | undefined;
  /** Its primaries are those of BT.2020. */
  readonly wide: boolean;
  /** A frame has the lines of two moments. */
  readonly interlaced: boolean;
  /** Its codec has such frames: each says what it is, and files are often wrong. */
  readonly mayInterlace: boolean;
  /** Beside its colours it has a second picture with their opacity, as VP8 and VP9 do. */
  readonly alphaBeside: boolean;
}

export interface AudioStream extends Common {
  readonly rate: number;
  readonly channels: number;
  /** Significant bits per sample; 16 for lossy codecs. */
  readonly bits: number;
  readonly float: boolean;
  /** Its codec keeps every bit. */
  readonly lossless: boolean;
  /** kbit/s; undefined if the file does not state it. */
  readonly bitrate: number | undefined;
}

export interface MediaFacts {
  /** Seconds; undefined if the file does not state it. */
  readonly duration: number | undefined;
  readonly video: readonly VideoStream[];
  readonly audio: readonly AudioStream[];
  readonly subtitles: readonly Common[];
  readonly covers: readonly Common[];
  /** Streams of other kinds: timecodes, attachments. */
  readonly others: number;
  /** Attached files, such as fonts of subtitles; `others` counts them too. */
  readonly attachments: readonly Common[];
  /** Which of the usual titles it has: `title`, `artist`, `album`. */
  readonly tags: readonly string[];
  readonly chapters: number;
  /** Where each chapter begins, and what it is called; empty where it has no name. */
  readonly marks: readonly { readonly seconds: number; readonly title: string }[];
  /** Its end is missing: it is shorter than it says. */
  readonly cutOff?: boolean;
}

export const mediaOf = (facts: Facts): MediaFacts => (facts['media'] as MediaFacts | undefined) ?? NO_STREAMS;

/** A file without any stream. */
export const NO_STREAMS: MediaFacts = {
  duration: undefined,
  video: [],
  audio: [],
  subtitles: [],
  covers: [],
  others: 0,
  attachments: [],
  tags: [],
  chapters: 0,
  marks: [],
};

/** The displayed size in square pixels. */
export function shownSize({ width, height, aspect, upended }: VideoStream): { readonly width: number; readonly height: number } {
  const wide = Math.max(1, Math.round(width * aspect));
  return upended ? { width: height, height: wide } : { width: wide, height };
}

/** Width of a pixel over its height once the picture is upright, as FFmpeg's filters receive it. */
export const uprightAspect = ({ aspect, upended }: VideoStream): number => (upended ? 1 / aspect : aspect);
