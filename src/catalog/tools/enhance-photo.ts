/** A photo that is sharper, with balanced colours. */
import { z } from 'zod';
import { engine as classical } from '../engines/retouch.ts';
import type { Tool } from '../tool.ts';
import { PHOTO, photoTarget, retouched } from '../tool-families/photo.ts';

export const tool: Tool = {
  slug: 'enhance-photo',
  summary: 'Balances the colours and tones of a photo, takes its noise away, and sharpens it.',
  ...PHOTO,
  input: z.object({}),
  daily: 50,
  mcp: { title: 'Enhance photo', description: 'Balances colors and tones, removes noise, and sharpens.' },
  work: { target: photoTarget, methods: [{ engine: classical, plan: (order) => retouched(order, 'enhance') }] },
};
