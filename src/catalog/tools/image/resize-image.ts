/** A picture in another size, in its own format where that can be written. */
import { z } from 'zod';
import { allowed, optionSchemas } from '../../options/options.ts';
import { ONE_FILE, refuseField, type Tool } from '../../tool.ts';
import { atAnySize, PICTURES } from '../../tool-families/picture.ts';

export const tool: Tool = {
  slug: 'resize-image',
  summary: 'Resizes a picture: one side keeps the ratio, both are exact.',
  search: {
    en: 'scale, pixels, dimensions, smaller, larger, shrink',
    de: 'skalieren, Pixel, Größe ändern, kleiner, größer, verkleinern',
    es: 'escalar, píxeles, dimensiones, más pequeño, más grande, reducir',
  },
  family: 'image',
  accepts: PICTURES,
  files: ONE_FILE,
  input: z.object({ img_resize_w: optionSchemas.img_resize_w.optional(), img_resize_h: optionSchemas.img_resize_h.optional() }),
  example: { img_resize_w: '1600' },
  check: ({ img_resize_w: width, img_resize_h: height }) => {
    if (width === undefined && height === undefined)
      throw refuseField('img_resize_w', undefined, `${allowed('img_resize_w')}, or img_resize_h, or both`);
  },
  mcp: {
    place: 9,
    title: 'Resize image',
    description: 'Resizes an image and keeps its format. One side alone keeps the aspect ratio.',
    params: { width: { field: 'img_resize_w', means: 'New width.' }, height: { field: 'img_resize_h', means: 'New height.' } },
    shows: true,
  },
  work: { convert: (source, input) => ({ target: atAnySize(source), options: input }) },
};
