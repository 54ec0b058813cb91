/** A picture before another background. */
import { z } from 'zod';
import { type AbsentTool, NO_MODEL } from '../listed-tool.ts';

export const tool: AbsentTool = {
  slug: 'change-background',
  summary: 'Replaces the background of a picture.',
  family: 'ai',
  reason: NO_MODEL,
  input: z.object({}),
  daily: 100,
};
