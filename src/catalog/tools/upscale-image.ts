/** A picture in more pixels. */
import { z } from 'zod';
import { inputLimit } from '../../errors.ts';
import { MAX_SIDE } from '../bounds.ts';
import { engine as classical } from '../engines/retouch.ts';
import { textField } from '../options/fields.ts';
import { refuseField, type Tool } from '../tool.ts';
import { boundedSides, PHOTO, photoTarget, retouched } from '../tool-families/photo.ts';

/** Of the result, px: each of its planes has 128 MB, and a conversion 2 GiB. */
const MOST_PIXELS = 32_000_000;

const input = z.object({
  scale: textField
    .regex(/^[234]x?$/i)
    .transform((value) => Number(value[0]))
    .describe('2, 3 or 4')
    .default(2),
  model: textField.max(64).describe(`the id of an installed model, or ${classical.name}`).optional(),
});

export const tool: Tool = {
  slug: 'upscale-image',
  summary: 'Enlarges a picture two to four times, with sharp edges.',
  ...PHOTO,
  // Enlarged by the least factor.
  bounds: { ...PHOTO.bounds, maxPixels: MOST_PIXELS / 4 },
  input,
  texts: { scale: { means: 'Factor.' }, model: { means: 'Id of an installed model, or classical.' } },
  check: ({ model }) => {
    if (model !== undefined && model !== classical.name) throw refuseField('model', `${model}`, classical.name);
  },
  daily: 50,
  mcp: { title: 'Upscale image', description: 'Enlarges an image 2 to 4 times, and keeps edges sharp.', params: { scale: {}, model: {} } },
  work: {
    target: photoTarget,
    methods: [
      {
        engine: classical,
        plan: (order) => {
          const scale = (order.input as z.output<typeof input>).scale;
          const [source] = order.sources;
          if (source === undefined) throw new Error('a tool without a source');
          const { width, height } = boundedSides(source, Math.floor(MOST_PIXELS / scale ** 2));
          const side = Math.max(width, height);
          if (side * scale > MAX_SIDE) throw inputLimit('side in pixels', Math.floor(MAX_SIDE / scale), side);
          return retouched(order, 'upscale', `${scale}`);
        },
      },
    ],
  },
};
