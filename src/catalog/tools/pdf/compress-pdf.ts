/** A PDF made smaller by sampling its pictures down. */
import { z } from 'zod';
import { integer } from '../../options/fields.ts';
import type { Tool } from '../../tool.ts';
import { PDF_TO_PDF, password } from '../../tool-families/pdf.ts';

export const tool: Tool = {
  ...PDF_TO_PDF,
  slug: 'compress-pdf',
  summary: 'Makes a PDF smaller by sampling its pictures down; never larger.',
  search: {
    en: 'shrink, reduce size, smaller, too large, email',
    de: 'verkleinern, kleiner machen, zu groß, E-Mail',
    es: 'comprimir, reducir tamaño, más pequeño, correo',
  },
  input: z.object({
    quality: integer(0, 100, ': to 25 for the screen, to 50 as an e-book, to 75 for a printer, above for prepress').default(50),
    password: password.optional(),
  }),
  example: { quality: '50' },
  aliases: { img_quality: 'quality' },
  opensEncrypted: true,
  neverLarger: true,
  texts: {
    quality: { means: 'Preset of images in the PDF: lower is smaller.' },
  },
  mcp: {
    place: 11,
    title: 'Compress PDF',
    description: 'Makes a PDF smaller by downsampling its images. Never makes it larger.',
    params: { quality: { means: 'Lower is smaller.' }, password: { means: 'To open an encrypted PDF.' } },
  },
  work: { convert: (_, { quality }) => ({ target: 'pdf', options: { img_quality: quality as number } }) },
};
