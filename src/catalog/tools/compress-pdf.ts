/** A PDF made smaller by sampling its pictures down. */
import { z } from 'zod';
import { integer } from '../fields.ts';
import type { Tool } from '../tool.ts';
import { PDF_TO_PDF } from './pdf-tool.ts';

const DEFAULT_QUALITY = 50;

export const tool: Tool = {
  ...PDF_TO_PDF,
  slug: 'compress-pdf',
  summary: 'Makes a PDF smaller by sampling its pictures down; never larger.',
  input: z.object({
    quality: integer(0, 100, ': to 25 for the screen, to 50 as an e-book, to 75 for a printer, above for prepress').optional(),
  }),
  neverLarger: true,
  work: { convert: (_, { quality = DEFAULT_QUALITY }) => ({ target: 'pdf', options: { img_quality: quality as number } }) },
};
