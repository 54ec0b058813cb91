/** Maps FFmpeg's error messages to reasons. */
import type { Reason } from '../../../../errors.ts';
import { type Meanings, meaningOf } from '../../../planning/phrases.ts';

const MEANINGS: Meanings<Reason> = [
  // The file announces a stream of which nothing is left, as when it was cut.
  [['Empty output on stream'], 'corrupt_input'],
  [['Unknown encoder', 'Unknown decoder', 'Decoder … not found', 'Encoder not found'], 'engine_missing'],
  [['Requested output format … is not', 'Requested input format … is not'], 'engine_missing'],
  [['Stream map … matches no streams', 'does not contain any stream', 'Output file is empty', 'Empty output'], 'no_stream'],
  [['Cannot allocate memory', 'out of memory'], 'memory'],
  [['File too large', 'No space left on device'], 'output_limit'],
];

/** @returns undefined for messages that mean `corrupt_input` */
export const explainFfmpeg = (output: string): Reason | undefined => meaningOf(output, MEANINGS);
