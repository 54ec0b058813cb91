/** The streams of a recording, as the inspection found them and the plans read them. */
import type { Facts } from '../../engine.ts';

export interface Common {
  /** Its place in the file, for `-map 0:<index>`. */
  readonly index: number;
  readonly codec: string;
}

export interface VideoStream extends Common {
  /** Pixels as stored. */
  readonly width: number;
  readonly height: number;
  /** Frames a second, 0 where unknown. */
  readonly fps: number;
  readonly rotated: boolean;
  /** It is shown lying on its other side: a quarter or three quarters turned. */
  readonly upended: boolean;
  /** Width of a pixel over its height, 1 where unknown. */
  readonly aspect: number;
  /** Frames are stored in another order than they are shown. */
  readonly reordered: boolean;
  /** Seconds of this stream alone; undefined where the file does not tell. */
  readonly seconds: number | undefined;
}

export interface AudioStream extends Common {
  readonly rate: number;
  readonly channels: number;
  /** Bits a sample that count; 16 for codecs that lose. */
  readonly bits: number;
  readonly float: boolean;
  /** kbit/s; undefined where the file does not tell. */
  readonly bitrate: number | undefined;
}

export interface MediaFacts {
  /** Seconds; undefined where the file does not tell. */
  readonly duration: number | undefined;
  readonly video: readonly VideoStream[];
  readonly audio: readonly AudioStream[];
  readonly subtitles: readonly Common[];
  readonly covers: readonly Common[];
  /** Streams of other kinds: timecodes, attachments. */
  readonly others: number;
  /** Files that came along, such as the fonts of subtitles; they are among the others. */
  readonly attachments: readonly Common[];
}

export const mediaOf = (facts: Facts): MediaFacts => (facts['media'] as MediaFacts | undefined) ?? NOTHING;

const NOTHING: MediaFacts = { duration: undefined, video: [], audio: [], subtitles: [], covers: [], others: 0, attachments: [] };

/** Sides in square pixels, as a player shows it. */
export function shownSize({ width, height, aspect, upended }: VideoStream): { readonly width: number; readonly height: number } {
  const wide = Math.max(1, Math.round(width * aspect));
  return upended ? { width: height, height: wide } : { width: wide, height };
}
