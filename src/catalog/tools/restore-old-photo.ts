/** An old photo without its damage. */
import { z } from 'zod';
import { engine as classical } from '../engines/retouch.ts';
import type { Tool } from '../tool.ts';
import { PHOTO, photoTarget, retouched } from '../tool-families/photo.ts';

export const tool: Tool = {
  slug: 'restore-old-photo',
  summary: 'Takes scratches and noise out of an old photo, and restores its contrast; does not colour it.',
  ...PHOTO,
  input: z.object({}),
  daily: 50,
  mcp: { title: 'Restore old photo', description: 'Removes scratches and noise, and restores contrast.' },
  work: {
    target: photoTarget,
    methods: [
      {
        engine: classical,
        plan: (order) => {
          const { steps, warnings = [] } = retouched(order, 'restore');
          const message = 'The photo was restored, not coloured: the model for that is not installed.';
          return { steps, warnings: [...warnings, { code: 'not_colourised', message }] };
        },
      },
    ],
  },
};
