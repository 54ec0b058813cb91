/** What a drawing asks for, looked up before anything is drawn. */
import { inputLimit } from '../../../../errors.ts';
import type { Binary, Inspection } from '../../../engine.ts';
import { octavesIn } from './octaves.ts';
import { sizeOf } from './size.ts';

/** Each octave of noise has half the size of the one before: that of the twentieth is a millionth. */
const MAX_OCTAVES = 32;
/** The root tag must lie in the first of these, and noise is looked for in both: a larger drawing is no small one. */
const [HEAD_CHARACTERS, LOOKED_AT_BYTES] = [65_536, 1_000_000];

export const HEAD: Binary = { at: ['/usr/bin/head'] };

/** Needs the binary `head`. */
export const INSPECT_SVG: Inspection = {
  sources: new Set(['svg']),
  step: (input) => ({ run: 'head', args: ['-c', `${LOOKED_AT_BYTES}`, input] }),
  read: (stdout) => {
    const octaves = octavesIn(stdout);
    if (octaves > MAX_OCTAVES) throw inputLimit('octaves of noise', MAX_OCTAVES, octaves);
    return { size: sizeOf(stdout.slice(0, HEAD_CHARACTERS)) };
  },
};
