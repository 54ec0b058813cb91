/** A picture turned by quarters, or mirrored. */
import { z } from 'zod';
import { optionSchemas } from '../../options/options.ts';
import { ONE_FILE, type Tool } from '../../tool.ts';
import { PICTURES, sameFormat } from '../../tool-families/picture.ts';

export const tool: Tool = {
  slug: 'rotate-image',
  summary: 'Turns a picture clockwise by 90, 180 or 270 degrees, or mirrors it left-right or top-bottom.',
  search: {
    en: 'turn, upside down, portrait, landscape, mirror, flip',
    de: 'drehen, Hochformat, Querformat, auf dem Kopf, spiegeln',
    es: 'girar, boca abajo, vertical, horizontal, espejo',
  },
  family: 'image',
  accepts: PICTURES,
  files: ONE_FILE,
  input: z.object({ img_rotate: optionSchemas.img_rotate }),
  example: { img_rotate: '90' },
  work: { convert: (source, input) => ({ target: sameFormat(source), options: input }) },
};
