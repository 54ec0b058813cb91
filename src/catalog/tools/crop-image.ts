/** A rectangle out of a picture. */
import { z } from 'zod';
import { extent, offset } from '../fields.ts';
import { ONE_FILE, type Tool } from '../tool.ts';
import { atAnySize, PICTURES } from './picture.ts';

export const tool: Tool = {
  slug: 'crop-image',
  summary: 'Crops a picture to a rectangle inside it: width and height, from the upper left corner unless said otherwise.',
  family: 'image',
  accepts: PICTURES,
  files: ONE_FILE,
  input: z.object({ img_crop_x: offset.default(0), img_crop_y: offset.default(0), img_crop_w: extent, img_crop_h: extent }),
  work: { convert: (source, input) => ({ target: atAnySize(source), options: input }) },
};
