/** A photo that is sharper, with balanced colours. */
import { z } from 'zod';
import type { Tool } from '../../tool.ts';
import { PHOTO, photoTarget } from '../../tool-families/photo.ts';
import { byOperation, DRAWING_MODEL_TEXT, drawingModel } from '../../tool-families/redrawn.ts';

export const tool: Tool = {
  slug: 'enhance-photo',
  summary: 'Balances the colours and tones of a photo, removes noise, and sharpens it.',
  search: {
    en: 'improve, brighten, sharpen, fix, quality, blurry, dark',
    de: 'verbessern, aufhellen, schärfen, Qualität, unscharf, dunkel',
    es: 'mejorar, aclarar, enfocar, calidad, borrosa, oscura',
  },
  ...PHOTO,
  input: z.object({ model: drawingModel }),
  example: { model: 'classical' },
  texts: { model: DRAWING_MODEL_TEXT },
  daily: 50,
  mcp: { place: 5, title: 'Enhance photo', description: 'Balances colors and tones, removes noise, and sharpens.' },
  work: { target: photoTarget, methods: byOperation('enhance', { first: 'draw' }) },
};
