/** Maps ImageMagick's error messages to reasons. */
import type { Reason } from '../../../../errors.ts';
import { type Meanings, meaningOf } from '../../../planning/phrases.ts';
import { reasonTold } from '../../../planning/told.ts';

/** MagickCore's exception texts, the same in versions 6 and 7. */
const MEANINGS: Meanings<Reason> = [
  [['width or height exceeds limit', 'width exceeds user limit', 'height exceeds user limit'], 'input_limit'],
  [['list length exceeds limit', 'too many exceptions'], 'input_limit'],
  [['cache resources exhausted', 'memory allocation failed', 'unable to extend cache', 'unable to extend pixel cache'], 'memory'],
  // Node, where our own program decodes.
  [['array buffer allocation failed', 'heap out of memory'], 'memory'],
  // JPEGs of 12 bits, or coded arithmetically (libjpeg).
  [['unsupported jpeg'], 'unsupported_variant'],
  [['no space left'], 'memory'],
  [['time limit exceeded'], 'timeout'],
  [['no decode delegate', 'no encode delegate', 'unable to open module', 'encoding plugin'], 'engine_missing'],
  [['unsupported feature: …encod', 'unsupported feature: …plugin'], 'engine_missing'],
];

/** @param code of the program: some are ours @returns undefined for messages that mean `corrupt_input` */
export const explainImageMagick = (output: string, code: number | null = null): Reason | undefined =>
  reasonTold(output, code, ['corrupt_input', 'unsupported_variant', 'input_limit']) ?? meaningOf(output, MEANINGS);
