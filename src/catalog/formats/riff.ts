/** Containers of chunks whose type stands behind their size: RIFF (EBU 3306), and AIFF's FORM. */
import type { Signature } from './format.ts';

export const riff = (container: string, type: string): Signature => [
  [0, container],
  [8, type],
];
