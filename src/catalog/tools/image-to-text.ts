/** The text of a picture or of a PDF, in the answer itself. */
import { z } from 'zod';
import { formatOf } from '../formats.ts';
import { optionSchemas } from '../options/options.ts';
import { ONE_FILE, type Tool } from '../tool.ts';
import { PICTURES } from '../tool-families/picture.ts';

/** What nothing beside Tesseract's image decodes. */
const OUT_OF_REACH = new Set(['jxl', 'exr']);

export const tool: Tool = {
  slug: 'image-to-text',
  summary: 'Reads the text of a picture or a PDF; pages of a PDF that have text keep it as it is.',
  family: 'ai',
  accepts: [...PICTURES.filter((id) => !OUT_OF_REACH.has(id) && !formatOf(id).tiny), 'pdf'],
  files: ONE_FILE,
  // In the record too when it was not sent: the answer names the language.
  input: z.object({ ocr_lang: optionSchemas.ocr_lang.default('eng') }),
  answersText: true,
  work: { convert: (_, { ocr_lang }) => ({ target: 'txt', options: { ocr_lang: ocr_lang as string } }) },
};
