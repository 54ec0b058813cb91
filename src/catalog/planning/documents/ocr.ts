/** What the engines with OCR have in common. */
import type { Reason } from '../../../errors.ts';
import type { Binary } from '../../engine.ts';
import type { Options } from '../../options/options.ts';

export const TESSERACT: Binary = { at: ['/usr/bin/tesseract'], version: { args: ['--version'], pattern: /^tesseract (\d+\.\d+)/m } };

/** Models that tell how a page is turned, and that read Chinese better. */
export const OCR_HELPERS: readonly string[] = ['page-orientation', 'ppocr-v4'];

/** Reads pictures by it, and by ImageMagick, the binary `convert`, tries those the other way round of which it is unsure. */
export const READ_PICTURE: Binary = { at: ['program:pdf/read.ts'], starts: 'convert', helpers: OCR_HELPERS };

/** Arguments of the reading program that follow from the options. */
export const recogniserOf = ({ recogniser }: Options): readonly string[] =>
  recogniser === undefined ? [] : [`--recogniser=${recogniser}`];

export function explainOcr(output: string): Reason | undefined {
  if (/Error opening data file|Failed loading language/.test(output)) return 'engine_missing';
  if (/out of memory|bad_alloc/i.test(output)) return 'memory';
  return undefined;
}
