/** A rectangle out of a picture. */
import { z } from 'zod';
import { allowed, optionSchemas } from '../../options/options.ts';
import { ONE_FILE, refuseField, type Tool } from '../../tool.ts';
import { atAnySize, PICTURES } from '../../tool-families/picture.ts';

export const tool: Tool = {
  slug: 'crop-image',
  summary: 'Crops a picture to a rectangle inside it: from the upper left corner to the lower right one unless said otherwise.',
  search: { en: 'cut, trim, square, edges', de: 'zuschneiden, Ausschnitt, Rand, quadratisch', es: 'recortar, cortar, cuadrado, bordes' },
  family: 'image',
  accepts: PICTURES,
  widget: 'crop',
  files: ONE_FILE,
  input: z.object({
    img_crop_x: optionSchemas.img_crop_x.optional(),
    img_crop_y: optionSchemas.img_crop_y.optional(),
    img_crop_w: optionSchemas.img_crop_w.optional(),
    img_crop_h: optionSchemas.img_crop_h.optional(),
  }),
  example: { img_crop_x: '100', img_crop_y: '50', img_crop_w: '800', img_crop_h: '600' },
  check: (input) => {
    if (Object.values(input).every((value) => value === undefined))
      throw refuseField('img_crop_w', undefined, `${allowed('img_crop_w')}, or another of img_crop_x, img_crop_y and img_crop_h`);
  },
  work: { convert: (source, input) => ({ target: atAnySize(source), options: input }) },
};
