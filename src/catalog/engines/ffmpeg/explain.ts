/** What FFmpeg's words on standard error mean. */
import type { Reason } from '../../../errors.ts';

/** Looked through in order. */
const MEANINGS: readonly (readonly [RegExp, Reason])[] = [
  [/Unknown encoder|Unknown decoder|Decoder .* not found|Encoder not found|Requested (output|input) format .* is not/i, 'engine_missing'],
  [/Stream map .* matches no streams|does not contain any stream|Output file is empty|^Empty output/im, 'no_stream'],
  [/Cannot allocate memory|out of memory/i, 'memory'],
  [/File too large|No space left on device/i, 'output_limit'],
];

/** @returns undefined where the words say nothing better than `corrupt_input` */
export const explain = (words: string): Reason | undefined => MEANINGS.find(([pattern]) => pattern.test(words))?.[1];
