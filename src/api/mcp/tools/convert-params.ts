/** A conversion's options for an assistant: texts and bounds are the catalog's (`catalog/options/`). */
import { optionTexts } from '../../../catalog/options/texts.ts';
import type { Param } from './tool.ts';

const options = Object.entries(optionTexts).map(([field, { means, brief = means, preset }]): [string, Param] => [
  field,
  // What is switched on is off otherwise.
  { field, means: brief, ...(preset === undefined || preset === false ? {} : { preset }) },
]);

/** Not a field of a form: REST takes `ocr_lang` as the request for OCR (`calls/normalize.ts`). */
export const OCR = 'ocr';

export const CONVERT_PARAMS: Readonly<Record<string, Param>> = {
  to_format: {
    field: 'to_format',
    means: 'Extension of the target format, such as pdf, docx, png, mp3, mp4, txt.',
    required: true,
    schema: { type: 'string', maxLength: 16 },
  },
  from_format: {
    field: 'from_format',
    means: 'Extension of the source, where neither content nor filename shows it, such as md or csv.',
    schema: { type: 'string', maxLength: 16 },
  },
  ...Object.fromEntries(options),
  ocr: {
    field: OCR,
    means: 'Makes a scan searchable: adds a text layer where the result is a PDF.',
    schema: { type: 'boolean' },
  },
};
