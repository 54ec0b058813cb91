/** The tools that assistants see: the contract's names for what the catalog has, and what each parameter is called there. */
import type { Schema } from '../../../catalog/options/field-schema.ts';
import { CONVERT_PARAMS } from './convert-params.ts';
import type { McpTool, Param } from './tool.ts';

const upTo = (minimum: number, maximum: number): Schema => ({ type: 'integer', minimum, maximum });
const oneOf = (...values: string[]): Schema => ({ type: 'string', enum: values });
const quality = (preset: number, means: string): Param => ({ field: 'quality', means, preset, schema: upTo(0, 100) });

/** A tool with one input, one output and no options. */
const plain = (name: string, title: string, description: string): McpTool => ({
  name,
  title,
  description,
  slug: name.replaceAll('_', '-'),
  files: 'one',
  params: {},
});

export const mcpTools: readonly McpTool[] = [
  {
    name: 'convert_file',
    title: 'Convert a file',
    description:
      'Converts one file (image, audio, video, document, sheet, slides, PDF, markup) into another format. The source format is detected from the content. Also extracts text from pictures and PDFs (to_format txt), extracts sound (to_format mp3) and renders pages (to_format png, with pages).',
    files: 'one',
    params: CONVERT_PARAMS,
  },
  {
    ...plain('upscale_image', 'Enlarge a picture', 'Enlarges a picture two to four times by an AI model.'),
    params: {
      scale: { field: 'scale', means: 'How many times larger.', preset: 2, schema: upTo(2, 4) },
      model: { field: 'model', means: 'Id of an installed model, or classical.', schema: { type: 'string', maxLength: 64 } },
    },
  },
  plain('remove_background', 'Remove the background', 'Removes the background of a picture. Returns a PNG with transparency.'),
  plain('colorize_photo', 'Colour a photo', 'Colours a black-and-white photo.'),
  plain('restore_old_photo', 'Restore an old photo', 'Restores and colours an old photo.'),
  plain('enhance_photo', 'Enhance a photo', 'Sharpens a photo and balances its colours.'),
  plain('vocal_remover', 'Separate vocals and instruments', 'Separates a song into vocals and instruments. Returns a ZIP of two files.'),
  {
    ...plain('speech_to_text', 'Transcribe speech', 'Transcribes the speech in a recording or a video, as text or subtitles.'),
    params: {
      format: { field: 'format', means: 'Plain text, or subtitles.', preset: 'txt', schema: oneOf('txt', 'srt', 'vtt') },
      language: {
        field: 'language',
        means: 'ISO 639-1 code of the language spoken, as en or de, or auto.',
        preset: 'auto',
        schema: { type: 'string', maxLength: 8 },
      },
    },
  },
  plain('noise_reduction', 'Reduce noise', 'Removes noise from a recording; the picture of a video is kept.'),
  {
    ...plain(
      'resize_image',
      'Resize a picture',
      'Resizes a picture in its own format. Needs width or height: one keeps the ratio, both are exact.',
    ),
    params: {
      width: { field: 'img_resize_w', means: 'Width of the result. Default: keeps the aspect ratio.' },
      height: { field: 'img_resize_h', means: 'Height of the result. Default: keeps the aspect ratio.' },
    },
  },
  {
    ...plain('compress_image', 'Compress a picture', 'Makes a JPEG, PNG, WebP or GIF smaller in its own format, never larger.'),
    params: { quality: { ...quality(80, 'Lower is smaller and worse.'), field: 'img_quality' } },
  },
  {
    ...plain('compress_pdf', 'Compress a PDF', 'Makes a PDF smaller by sampling its pictures down, never larger.'),
    params: { quality: quality(50, 'To 25 for a screen, to 50 as an e-book, to 75 for a printer, above for prepress.') },
  },
  {
    ...plain('merge_pdfs', 'Join PDFs', 'Joins 2 to 20 PDFs into one, in the order given, with their outlines; 400 MB together.'),
    slug: 'merge-pdf',
    files: 'several',
  },
];
