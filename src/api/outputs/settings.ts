/** Settings of outputs. */
import { z } from 'zod';
import { SUFFIX } from '../../catalog/names.ts';

export const outputSettings = z.strictObject({
  suffix: z
    .string()
    .regex(/^[\p{L}\p{N} _+=@()-]{0,50}$/u, 'must be at most 50 letters, digits, blanks, and characters of _+=@()-')
    .default(SUFFIX)
    .describe(
      'What follows the name of the source in the name of an output, as in `photo-filemill.jpg`; empty: nothing, as in `save_as`. `filemill convert` and `filemill tool` on this machine add it where a result would have the name of its source',
    ),
});
