/** A picture in more pixels. */
import { z } from 'zod';
import { inputLimit } from '../../../errors.ts';
import { MAX_SIDE } from '../../bounds.ts';
import { enlarged, MOST_DRAWN, engine as realesrgan } from '../../engines/photos/enlarge.ts';
import { engine as classical } from '../../engines/photos/retouch.ts';
import { boundedSides } from '../../engines/pictures/imagemagick/inspect.ts';
import { modelName, textField } from '../../options/fields.ts';
import type { Tool, ToolTask } from '../../tool.ts';
import { PHOTO, photoTarget, retouched } from '../../tool-families/photo.ts';

/** Pixels of the result: each of its planes has 128 MB, and a conversion 2 GiB. */
const MOST_PIXELS = 32_000_000;

const schema = z.object({
  scale: textField
    .regex(/^[234]x?$/i)
    .transform((value) => Number(value[0]))
    .describe('2, 3 or 4')
    .default(2),
  model: modelName.optional(),
});

export const tool: Tool = {
  slug: 'upscale-image',
  summary: 'Enlarges a picture two to four times, with sharp edges.',
  search: {
    en: 'enlarge, bigger, higher resolution, hd, 4k, sharper',
    de: 'vergrößern, größer, höhere Auflösung, HD, schärfer',
    es: 'ampliar, más grande, mayor resolución, HD',
  },
  ...PHOTO,
  // Enlarged by the least factor.
  bounds: { ...PHOTO.bounds, maxPixels: MOST_PIXELS / 4 },
  input: schema,
  example: { scale: '2' },
  texts: {
    scale: { means: 'Factor.' },
    model: {
      means: `Method: classical, the default, invents nothing; ${realesrgan.name} draws fine details that the picture may not have had, and takes minutes.`,
    },
  },
  daily: 50,
  mcp: {
    place: 1,
    title: 'Upscale image',
    description: 'Enlarges an image, and keeps edges sharp.',
    params: { scale: {}, model: { means: 'Details: realesrgan-x4plus, slow.' } },
  },
  work: {
    target: photoTarget,
    methods: [
      {
        engine: classical,
        plan: (order) => retouched(order, 'upscale', `${scaleOf(order, (scale) => Math.floor(MOST_PIXELS / scale ** 2))}`),
      },
      {
        engine: realesrgan,
        onRequest: true,
        plan: (order) =>
          enlarged(
            order,
            scaleOf(order, () => MOST_DRAWN),
          ),
      },
    ],
  },
};

/** @param mostPixels of the source, by scale @throws Failure `input_limit` */
function scaleOf({ input, sources: [source] }: ToolTask, mostPixels: (scale: number) => number): number {
  if (source === undefined) throw new Error('a tool without a source');
  const { scale } = input as z.output<typeof schema>;
  const { width, height } = boundedSides(source, mostPixels(scale));
  const side = Math.max(width, height);
  if (side * scale > MAX_SIDE) throw inputLimit('side in pixels', Math.floor(MAX_SIDE / scale), side);
  return scale;
}
