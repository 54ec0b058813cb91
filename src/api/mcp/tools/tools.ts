/** The tools that assistants see for what the catalog has: the contract's names, and what each parameter is called there. */
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
    title: 'Convert file',
    description:
      'Converts one file to another format: images, audio, video, documents, spreadsheets, presentations, PDF, e-books, HTML, Markdown. Detects the source format. Also: extracts text, with OCR where needed (to_format txt), extracts audio from a video (mp3), renders PDF pages (png, with pages), cuts audio or video (start_time, end_time), prints a web page (its URL, pdf). Returns a download URL.',
    files: 'one',
    params: CONVERT_PARAMS,
    shows: true,
  },
  {
    ...plain('upscale_image', 'Upscale image', 'Enlarges an image 2 to 4 times with an AI model.'),
    params: {
      scale: { field: 'scale', means: 'Factor.', preset: 2, schema: upTo(2, 4) },
      model: { field: 'model', means: 'Id of an installed model, or classical.', schema: { type: 'string', maxLength: 64 } },
    },
  },
  plain('remove_background', 'Remove background', 'Removes the background of an image. Returns a PNG with transparency.'),
  plain('colorize_photo', 'Colorize photo', 'Colorizes a black-and-white photo.'),
  plain('restore_old_photo', 'Restore old photo', 'Restores and colorizes an old or damaged photo.'),
  plain('enhance_photo', 'Enhance photo', 'Sharpens a photo and balances its colors.'),
  plain('vocal_remover', 'Separate vocals', 'Separates a song into vocals and accompaniment. Returns a ZIP with two files.'),
  {
    ...plain('speech_to_text', 'Transcribe speech', 'Transcribes the speech of an audio or video file to text or subtitles.'),
    params: {
      format: { field: 'format', means: 'Plain text or subtitles.', preset: 'txt', schema: oneOf('txt', 'srt', 'vtt') },
      language: {
        field: 'language',
        means: 'ISO 639-1 code of the language spoken, or auto.',
        preset: 'auto',
        schema: { type: 'string', maxLength: 8 },
      },
    },
  },
  plain('noise_reduction', 'Reduce noise', 'Removes background noise from audio, or from the audio of a video.'),
  {
    ...plain('resize_image', 'Resize image', 'Resizes an image and keeps its format. One side alone keeps the aspect ratio.'),
    params: {
      width: { field: 'img_resize_w', means: 'New width.' },
      height: { field: 'img_resize_h', means: 'New height.' },
    },
    shows: true,
  },
  {
    ...plain(
      'compress_image',
      'Compress image',
      'Makes a JPEG, PNG, WebP or GIF file smaller and keeps its format. Never makes it larger.',
    ),
    params: { quality: { ...quality(80, 'Lower is smaller.'), field: 'img_quality' } },
    shows: true,
  },
  {
    ...plain('compress_pdf', 'Compress PDF', 'Makes a PDF smaller by downsampling its images. Never makes it larger.'),
    params: { quality: quality(50, 'Lower is smaller.'), password: { field: 'password', means: 'To open an encrypted PDF.' } },
  },
  {
    ...plain(
      'merge_pdfs',
      'Merge PDFs',
      'Merges 2 to 20 PDFs into one, in the order given, at most 400 MB together. Keeps their outlines.',
    ),
    slug: 'merge-pdf',
    files: 'several',
  },
];
