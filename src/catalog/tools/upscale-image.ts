/** A picture in more pixels. */
import { z } from 'zod';
import { type AbsentTool, NO_MODEL } from '../listed-tool.ts';
import { integer, textField } from '../options/fields.ts';

export const tool: AbsentTool = {
  slug: 'upscale-image',
  summary: 'Enlarges a picture two to four times.',
  family: 'ai',
  reason: NO_MODEL,
  input: z.object({ scale: integer(2, 4, '').default(2), model: textField.max(64).optional() }),
  texts: { scale: { means: 'Factor.' }, model: { means: 'Id of an installed model, or classical.' } },
  daily: 50,
  mcp: { title: 'Upscale image', description: 'Enlarges an image 2 to 4 times with an AI model.', params: { scale: {}, model: {} } },
};
