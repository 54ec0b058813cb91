/** A photo as passports need it. */
import { z } from 'zod';
import { type AbsentTool, NO_MODEL } from '../listed-tool.ts';

export const tool: AbsentTool = {
  slug: 'passport-photo',
  summary: 'Makes a passport photo.',
  family: 'ai',
  reason: NO_MODEL,
  input: z.object({}),
  daily: 100,
};
