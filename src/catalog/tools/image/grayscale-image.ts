/** A picture in shades of grey. */
import { z } from 'zod';
import { ONE_FILE, type Tool } from '../../tool.ts';
import { inShades, PICTURES } from '../../tool-families/picture.ts';

export const tool: Tool = {
  slug: 'grayscale-image',
  summary: 'Turns a picture into shades of grey.',
  search: {
    en: 'black and white, grey, gray, monochrome, desaturate',
    de: 'schwarz-weiß, grau, Graustufen, entsättigen',
    es: 'blanco y negro, gris, monocromo',
  },
  family: 'image',
  accepts: PICTURES,
  files: ONE_FILE,
  input: z.object({}),
  work: { convert: (source) => ({ target: inShades(source), options: { grayscale: true } }) },
};
