/** Blurs a picture. */
import { z } from 'zod';
import { textField } from '../../options/fields.ts';
import { type Input, ONE_FILE, type Tool } from '../../tool.ts';
import { inShades, PICTURES } from '../../tool-families/picture.ts';

const input = z.object({
  radius: textField
    .regex(/^\d{1,3}(\.\d{1,3})?$/)
    .transform(Number)
    .pipe(z.number().min(0.3).max(100))
    .describe('number, 0.3 to 100 px')
    .default(5),
});
const read = (given: Input) => given as z.output<typeof input>;

export const tool: Tool = {
  slug: 'blur-image',
  summary: 'Blurs a picture by a Gaussian; the radius is its standard deviation, as in CSS.',
  search: { en: 'soft, hide, unsharp, privacy', de: 'weichzeichnen, unscharf, unkenntlich', es: 'desenfocar, difuminar, ocultar' },
  family: 'image',
  accepts: PICTURES,
  files: ONE_FILE,
  input,
  example: { radius: '8' },
  texts: {
    radius: { means: 'Standard deviation of the Gaussian blur.' },
  },
  work: { convert: (source, given) => ({ target: inShades(source), options: { blur: read(given).radius } }) },
};
