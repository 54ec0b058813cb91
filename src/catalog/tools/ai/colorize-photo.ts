/** A black-and-white photo in colours. */
import { z } from 'zod';
import { type AbsentTool, NO_MODEL } from '../../listed-tool.ts';

export const tool: AbsentTool = {
  slug: 'colorize-photo',
  summary: 'Colours a black-and-white photo.',
  family: 'ai',
  reason: NO_MODEL,
  input: z.object({}),
  daily: 50,
  mcp: { place: 3, title: 'Colorize photo', description: 'Colorizes a black-and-white photo.' },
};
