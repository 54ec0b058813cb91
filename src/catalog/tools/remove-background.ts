/** A picture without its background. */
import { z } from 'zod';
import { matted, engine as u2net } from '../engines/matte.ts';
import type { Tool } from '../tool.ts';
import { PHOTO } from '../tool-families/photo.ts';

export const tool: Tool = {
  slug: 'remove-background',
  summary: 'Removes the background of a picture.',
  ...PHOTO,
  input: z.object({}),
  daily: 100,
  mcp: { title: 'Remove background', description: 'Removes the background of an image: a transparent PNG.' },
  work: { target: () => 'png', methods: [{ engine: u2net, plan: (order) => matted(order, 'cut') }] },
};
