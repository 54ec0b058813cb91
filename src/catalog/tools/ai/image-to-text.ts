/** OCR of a picture or a PDF, with the text in the response itself. */
import { z } from 'zod';
import { MAX_PAGES } from '../../bounds.ts';
import { formatOf } from '../../formats.ts';
import { oneOf } from '../../options/fields.ts';
import { optionSchemas } from '../../options/options.ts';
import { ONE_FILE, type Tool } from '../../tool.ts';
import { password } from '../../tool-families/pdf.ts';
import { PICTURES } from '../../tool-families/picture.ts';

const RECOGNISERS = ['tesseract', 'ppocr-v4'] as const;
/** Formats that no engine in Tesseract's toolchain decodes. */
const OUT_OF_REACH = new Set(['jxl', 'exr']);

export const tool: Tool = {
  slug: 'image-to-text',
  summary: 'Reads the text of a picture or a PDF; pages of a PDF that have text keep it as it is.',
  search: {
    en: 'ocr, read, scan, copy text, recognise, extract text',
    de: 'OCR, Texterkennung, auslesen, Scan, Text kopieren, abtippen',
    es: 'OCR, leer, escaneo, copiar texto, reconocer, extraer texto',
  },
  family: 'ai',
  accepts: [...PICTURES.filter((id) => !OUT_OF_REACH.has(id) && !formatOf(id).tiny), 'pdf'],
  files: ONE_FILE,
  bounds: { maxBytes: 25 * 1024 * 1024, maxPixels: 16_000_000, maxPages: MAX_PAGES },
  // Stored in the record even if not sent, since the response names the language.
  input: z.object({ ocr_lang: optionSchemas.ocr_lang.default('eng'), model: oneOf(RECOGNISERS).optional(), password: password.optional() }),
  example: { ocr_lang: 'deu+fra' },
  aliases: { languages: 'ocr_lang' },
  texts: {
    model: {
      means: 'What reads: tesseract, or ppocr-v4, which is used for Chinese where it is installed, and loses blanks between words.',
    },
  },
  opensEncrypted: true,
  answersText: true,
  daily: 100,
  work: {
    convert: (_, { ocr_lang, model }) => ({
      target: 'txt',
      options: { ocr_lang: ocr_lang as string, ...(model !== undefined && { recogniser: model as (typeof RECOGNISERS)[number] }) },
    }),
  },
};
