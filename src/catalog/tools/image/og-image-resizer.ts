/** Resizes a picture for link previews: 1200 × 630 px, the size that readers of Open Graph tags expect. */
import { z } from 'zod';
import { oneOf } from '../../options/fields.ts';
import { type Input, ONE_FILE, type Tool } from '../../tool.ts';
import { atAnySize, inShades, PICTURES } from '../../tool-families/picture.ts';

const input = z.object({ fit: oneOf(['cover', 'contain']).default('cover') });
const read = (given: Input) => given as z.output<typeof input>;

export const tool: Tool = {
  slug: 'og-image-resizer',
  summary: 'Resizes a picture to 1200 x 630 px for link previews: cut to fill it, or whole with bars.',
  search: {
    en: 'facebook, twitter, linkedin, social media, preview, open graph',
    de: 'Facebook, Twitter, LinkedIn, soziale Medien, Vorschau',
    es: 'Facebook, Twitter, LinkedIn, redes sociales, vista previa',
  },
  family: 'image',
  accepts: PICTURES,
  files: ONE_FILE,
  input,
  example: { fit: 'contain' },
  texts: {
    fit: { means: 'cover fills 1200 × 630 and cuts off the rest; contain keeps all and adds bars.' },
  },
  work: {
    convert: (source, given) => ({
      target: inShades(atAnySize(source)),
      options: { img_resize_w: 1200, img_resize_h: 630, fit: read(given).fit },
    }),
  },
};
