/** A picture without its background. */
import { z } from 'zod';
import { type AbsentTool, NO_MODEL } from '../listed-tool.ts';

export const tool: AbsentTool = {
  slug: 'remove-background',
  summary: 'Removes the background of a picture.',
  family: 'ai',
  reason: NO_MODEL,
  input: z.object({}),
  daily: 100,
  mcp: { title: 'Remove background', description: 'Removes the background of an image. Returns a PNG with transparency.' },
};
