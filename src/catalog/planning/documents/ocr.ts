/** What the engines with OCR have in common. */
import type { Reason } from '../../../errors.ts';
import type { Binary } from '../../engine.ts';

export const TESSERACT: Binary = { at: ['/usr/bin/tesseract'], version: { args: ['--version'], pattern: /^tesseract (\d+\.\d+)/m } };

export function explainOcr(output: string): Reason | undefined {
  if (/Error opening data file|Failed loading language/.test(output)) return 'engine_missing';
  if (/out of memory|bad_alloc/i.test(output)) return 'memory';
  return undefined;
}
