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
  /** Frames are stored in another order than they are shown. */
  readonly reordered: boolean;
}

export interface AudioStream extends Common {
  readonly rate: number;
  readonly channels: number;
  /** Bits a sample that count; 16 for codecs that lose. */
  readonly bits: number;
  readonly float: boolean;
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
}

export const mediaOf = (facts: Facts): MediaFacts =>
  (facts['media'] as MediaFacts | undefined) ?? { duration: undefined, video: [], audio: [], subtitles: [], covers: [], others: 0 };
