/** What ImageMagick's words on standard error mean. */
import type { Reason } from '../../../errors.ts';

/** Looked through in order (MagickCore exception texts, the same in versions 6 and 7). */
const MEANINGS: readonly (readonly [RegExp, Reason])[] = [
  [/width or height exceeds limit|(width|height) exceeds user limit|list length exceeds limit|too many exceptions/i, 'input_limit'],
  [/cache resources exhausted|memory allocation failed|unable to extend (pixel )?cache|no space left/i, 'memory'],
  [/time limit exceeded/i, 'timeout'],
  [/no decode delegate|no encode delegate|unable to open module|encoding plugin|unsupported feature: .*(encod|plugin)/i, 'engine_missing'],
];

/** @returns undefined where the words say nothing better than `corrupt_input` */
export const explain = (words: string): Reason | undefined => MEANINGS.find(([pattern]) => pattern.test(words))?.[1];
