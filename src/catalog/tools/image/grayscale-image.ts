/** A picture in shades of grey. */
import { z } from 'zod';
import { ONE_FILE, type Tool } from '../../tool.ts';
import { inShades, PICTURES } from '../../tool-families/picture.ts';

export const tool: Tool = {
  slug: 'grayscale-image',
  summary: 'Turns a picture into shades of grey.',
  family: 'image',
  accepts: PICTURES,
  files: ONE_FILE,
  input: z.object({}),
  work: { convert: (source) => ({ target: inShades(source), options: { grayscale: true } }) },
};
