/** Writes a text over a picture. */
import { z } from 'zod';
import { POSITIONS } from '../../options/edits.ts';
import { integer, oneOf, textField } from '../../options/fields.ts';
import { type Input, ONE_FILE, type Tool } from '../../tool.ts';
import { inShades, PICTURES } from '../../tool-families/picture.ts';

/** A character that is neither a space nor invisible. */
const VISIBLE = /[^\p{Z}\p{Cc}\p{Cf}]/u;
/** Control characters, which may end a text or move a terminal's cursor; tabs and line feeds are allowed. */
const CONTROL = /[^\P{Cc}\t\n]/u;

const input = z.object({
  text: textField
    .transform((value) => value.replaceAll('\r\n', '\n'))
    .refine((value) => [...value].length <= 200 && VISIBLE.test(value) && !CONTROL.test(value))
    .describe('1 to 200 characters'),
  position: oneOf(POSITIONS).default('bottom-right'),
  opacity: integer(0, 100, ' %').default(50),
  size: integer(1, 50, ' % of the shorter side').default(5),
  color: textField
    .regex(/^#[0-9a-fA-F]{6}$/)
    .toLowerCase()
    .describe('#rrggbb')
    .default('#ffffff'),
});

export const tool: Tool = {
  slug: 'watermark-image',
  summary: 'Writes a text over a picture, in one of nine places, in any script.',
  search: {
    en: 'copyright, logo, text, protect, signature',
    de: 'Copyright, Text, schützen, Signatur, Beschriftung',
    es: 'copyright, texto, proteger, firma, marca de agua',
  },
  family: 'image',
  accepts: PICTURES,
  files: ONE_FILE,
  input,
  example: { text: 'Draft', position: 'bottom-right', opacity: '50' },
  texts: {
    text: { means: 'The text, taken literally.' },
    position: { means: 'Position of the text.' },
    opacity: { means: 'Opacity of the text: 0 is invisible.' },
    size: { means: 'Height of the letters.' },
    color: { means: 'Colour of the letters.' },
  },
  work: { convert: (source, given: Input) => ({ target: inShades(source), options: { watermark: given as z.output<typeof input> } }) },
};
