/** A recording without its noise. */
import { z } from 'zod';
import { type AbsentTool, NO_MODEL } from '../listed-tool.ts';

export const tool: AbsentTool = {
  slug: 'noise-reduction',
  summary: 'Removes noise from a recording.',
  family: 'ai',
  reason: NO_MODEL,
  input: z.object({}),
  daily: 50,
  mcp: { title: 'Reduce noise', description: 'Removes background noise from audio, or from the audio of a video.' },
};
