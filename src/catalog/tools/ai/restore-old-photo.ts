/** An old photo without its damage. */
import { z } from 'zod';
import type { Method, Tool, ToolTask } from '../../tool.ts';
import { PHOTO, photoTarget } from '../../tool-families/photo.ts';
import { byOperation, DRAWING_MODEL_TEXT, drawingModel } from '../../tool-families/redrawn.ts';

// A model would draw scratches sharper than they are.
const [classical, ...others] = byOperation('restore', { first: 'operation' });

export const tool: Tool = {
  slug: 'restore-old-photo',
  summary: 'Removes scratches and noise from an old photo, and restores its contrast; does not colour it.',
  search: {
    en: 'repair, scratches, damaged, faded, vintage',
    de: 'reparieren, Kratzer, beschädigt, verblasst, altes Bild',
    es: 'reparar, arañazos, dañada, descolorida, antigua',
  },
  ...PHOTO,
  input: z.object({ model: drawingModel }),
  example: { model: 'classical' },
  texts: { model: DRAWING_MODEL_TEXT },
  daily: 50,
  mcp: { place: 4, title: 'Restore old photo', description: 'Removes scratches and noise, and restores contrast.' },
  work: { target: photoTarget, methods: [notColoured(classical), ...others.map(notColoured)] },
};

function notColoured(method: Method): Method {
  const plan = (task: ToolTask) => {
    const { steps, warnings = [] } = method.plan(task);
    const message = 'The photo was restored, not coloured; colorize-photo colours it.';
    return { steps, warnings: [...warnings, { code: 'not_colourised', message }] };
  };
  return { ...method, plan };
}
