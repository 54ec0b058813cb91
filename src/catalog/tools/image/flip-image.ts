/** A name of the contract for what `rotate-image` does. */
import { z } from 'zod';
import type { AbsentTool } from '../../listed-tool.ts';

export const tool: AbsentTool = {
  slug: 'flip-image',
  summary: 'Mirrors a picture.',
  search: { en: 'mirror, selfie', de: 'spiegeln, Selfie', es: 'reflejar, espejo, voltear' },
  family: 'image',
  reason: 'use rotate-image with flip-h or flip-v',
  input: z.object({}),
};
