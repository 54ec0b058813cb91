/** An old photo without its damage, in colours. */
import { z } from 'zod';
import { type AbsentTool, NO_MODEL } from '../listed-tool.ts';

export const tool: AbsentTool = {
  slug: 'restore-old-photo',
  summary: 'Restores and colours an old photo.',
  family: 'ai',
  reason: NO_MODEL,
  input: z.object({}),
  daily: 50,
  mcp: { title: 'Restore old photo', description: 'Restores and colorizes an old or damaged photo.' },
};
