/** A rectangle out of a picture. */
import { z } from 'zod';
import { optionSchemas } from '../options/options.ts';
import { ONE_FILE, type Tool } from '../tool.ts';
import { atAnySize, PICTURES } from '../tool-families/picture.ts';

export const tool: Tool = {
  slug: 'crop-image',
  summary: 'Crops a picture to a rectangle inside it: width and height, from the upper left corner unless said otherwise.',
  family: 'image',
  accepts: PICTURES,
  files: ONE_FILE,
  input: z.object({
    img_crop_x: optionSchemas.img_crop_x.default(0),
    img_crop_y: optionSchemas.img_crop_y.default(0),
    img_crop_w: optionSchemas.img_crop_w,
    img_crop_h: optionSchemas.img_crop_h,
  }),
  work: { convert: (source, input) => ({ target: atAnySize(source), options: input }) },
};
