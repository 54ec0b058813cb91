/** A photo that is sharper, with balanced colours. */
import { z } from 'zod';
import { type AbsentTool, NO_MODEL } from '../listed-tool.ts';

export const tool: AbsentTool = {
  slug: 'enhance-photo',
  summary: 'Sharpens and balances a photo.',
  family: 'ai',
  reason: NO_MODEL,
  input: z.object({}),
  daily: 50,
  mcp: { title: 'Enhance photo', description: 'Sharpens a photo and balances its colors.' },
};
