/** A picture without something that it shows. */
import { z } from 'zod';
import { type AbsentTool, NO_MODEL } from '../listed-tool.ts';

export const tool: AbsentTool = {
  slug: 'remove-object',
  summary: 'Removes something from a picture.',
  family: 'ai',
  reason: NO_MODEL,
  input: z.object({}),
  daily: 50,
};
