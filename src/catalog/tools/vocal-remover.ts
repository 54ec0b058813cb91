/** A song as vocals and accompaniment. */
import { z } from 'zod';
import { type AbsentTool, NO_MODEL } from '../listed-tool.ts';

export const tool: AbsentTool = {
  slug: 'vocal-remover',
  summary: 'Separates a song into vocals and instruments.',
  family: 'ai',
  reason: NO_MODEL,
  input: z.object({}),
  daily: 50,
  mcp: { title: 'Separate vocals', description: 'Separates a song into vocals and accompaniment. Returns a ZIP with two files.' },
};
