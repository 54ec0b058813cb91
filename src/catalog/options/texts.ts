/** What each option of a conversion does: one text for the API's document, the lists of formats and tools, and MCP. Bounds are in `options.ts`; a tool's own fields have their texts in its file. */
import type { z } from 'zod';
import { fieldSchema, isRequired, type Schema } from './field-schema.ts';
import { type OptionText, wordsOf } from './fields.ts';
import type { FormOption } from './options.ts';

/** By the name of the field. */
type OptionTexts = Readonly<Record<string, OptionText>>;

const MP3 = 'MP3';
const WAV = 'WAV';
const SOUND = 'AAC, M4A, Ogg, Opus, WMA and the sound of videos';
const VIDEO = 'videos';
const FILMED = 'videos, and what is made of their frames';
const PICTURE = 'pictures';
const RECORDING = 'audio and video';

export const optionTexts: Readonly<Record<FormOption, OptionText>> = {
  img_quality: {
    means: 'Quality: 100 is best, lower is smaller.',
    preset: 80,
    where: 'JPG, WebP, AVIF, HEIC, JXL, JP2 and images in a PDF',
  },
  img_resize_w: { means: 'Width. Alone it keeps the aspect ratio.', where: PICTURE },
  img_resize_h: { brief: 'Height.', means: 'Height. Alone it keeps the aspect ratio.', where: PICTURE },
  img_rotate: { means: 'Clockwise by degrees, or mirrored: flip-h swaps left and right, flip-v top and bottom.', where: PICTURE },
  img_crop_x: { means: 'Left edge of the crop.', preset: 0, where: PICTURE },
  img_crop_y: { means: 'Top edge of the crop.', preset: 0, where: PICTURE },
  img_crop_w: { means: 'Width of the crop.', where: PICTURE },
  img_crop_h: { means: 'Height of the crop.', where: PICTURE },
  mp3_mode: { brief: 'Bit rate.', means: 'Bit rate: variable, constant or average.', preset: 'vbr', where: MP3 },
  mp3_quality: { means: 'Quality at a variable bit rate.', preset: 2, where: `${MP3} with mp3_mode vbr` },
  mp3_bitrate: {
    brief: 'Constant or average bit rate.',
    means: 'Constant or average bit rate, 192 by default; alone it means constant.',
    where: MP3,
  },
  wav_rate: { brief: 'Sample rate.', means: 'Sample rate. Default: the source’s.', where: WAV },
  wav_depth: { brief: 'Sample size.', means: 'Sample size. Default: the source’s, 16 bit from a lossy one.', where: WAV },
  wav_channels: { brief: 'Channels.', means: 'Channels. Default: the source’s.', where: WAV },
  audio_bitrate: { brief: 'Bit rate.', means: 'Bit rate. Default: copied where possible, or 192.', where: SOUND },
  audio_rate: { brief: 'Sample rate.', means: 'Sample rate. Default: the source’s.', where: SOUND },
  audio_channels: { brief: 'Channels.', means: 'Channels. Default: the source’s.', where: SOUND },
  loudness: {
    brief: 'Loudness by EBU R 128.',
    means:
      'Loudness of the whole by EBU R 128, measured first: -23 for broadcasts, -14 to -16 for streams. Default: as loud as the source.',
    where: RECORDING,
  },
  true_peak: {
    brief: 'Highest true peak.',
    means: 'Highest true peak before encoding: what is louder is limited.',
    preset: -1,
    where: `${RECORDING} with loudness`,
  },
  audio_track: {
    brief: 'The audio track to keep.',
    means: 'The audio track that is kept, from 1 on. Default: all that the target has room for.',
    where: RECORDING,
  },
  video_codec: {
    brief: 'Codec.',
    means: 'Codec, if the container supports it. Default: the usual one.',
    where: VIDEO,
  },
  video_crf: {
    brief: 'Rate factor: lower is better.',
    means: 'Constant rate factor: lower is better. Default: copied where possible, or 23.',
    where: VIDEO,
  },
  video_width: { brief: 'Width.', means: 'Width. Alone it keeps the aspect ratio.', where: VIDEO },
  video_height: { brief: 'Height.', means: 'Height. Alone it keeps the aspect ratio.', where: VIDEO },
  video_fps: { brief: 'Frame rate.', means: 'Frame rate. Default: the source’s.', where: VIDEO },
  deinterlace: {
    brief: 'Makes whole frames of interlaced ones.',
    means: 'Makes whole frames of interlaced ones: auto where they are encoded and said to be interlaced, on for all.',
    preset: 'auto',
    where: FILMED,
  },
  tone_map: {
    brief: 'Curve from HDR.',
    means: 'Curve from HDR to ordinary screens: auto where the target cannot say that it is HDR, off leaves the values.',
    preset: 'auto',
    where: FILMED,
  },
  burn_subtitles: {
    brief: 'Subtitles to draw in.',
    means: 'The subtitle track that is drawn into the picture, from 1 on. Default: none is.',
    where: VIDEO,
  },
  fit: {
    brief: 'How another shape fits both sides.',
    means: 'How another shape fits a width and a height: fill stretches it, cover cuts off the rest, contain keeps all and adds bars.',
    preset: 'fill',
    where: 'pictures and videos with both a width and a height',
  },
  start_time: {
    brief: 'Start of the part to keep, or time of the frame.',
    means: 'Start of the part to keep. Where a video becomes a picture: the time of its frame.',
    preset: '0',
    where: RECORDING,
  },
  end_time: { brief: 'End of the part to keep.', means: 'End of the part to keep. Default: the end.', where: RECORDING },
  track: {
    brief: 'Audio track.',
    means: 'Audio track, from 1 on; audio_track says the same.',
    preset: 1,
    where: 'audio and video that become audio',
  },
  dpi: {
    brief: 'Resolution of pages, dots per inch.',
    means: 'Resolution at which pages are rendered, dots per inch.',
    preset: 150,
    where: 'PDF pages and SVG that become pictures',
  },
  background: { means: 'Colour that replaces transparency.', preset: '#ffffff', where: 'targets without transparency' },
  strip_metadata: { means: 'Removes EXIF, titles, dates and places.', preset: false, where: 'pictures, audio and video' },
  password: { means: 'Opens an encrypted file.', where: 'PDF and office files' },
  pages: { means: 'Pages to convert.', preset: 'all', where: 'PDF, TIFF and documents' },
  worksheet: {
    brief: 'Sheet, or table of a page.',
    means: 'The sheet, or the table of a page: its number, name or caption. Default: all sheets, the first table.',
    where: 'sheets that become PDF, pages, data or text, and HTML and PDF whose tables become sheets',
  },
  sheet_fit: {
    brief: 'How sheets fit pages.',
    means: 'How a sheet is printed: as_set in it, as wide as a page, or whole on one page.',
    preset: 'as_set',
    where: 'sheets that become a PDF',
  },
  hidden_slides: { brief: 'Prints them.', means: 'Prints hidden slides, too.', preset: false, where: 'presentations that become a PDF' },
  notes: {
    brief: 'Prints them.',
    means: 'Adds a page for each slide with its notes.',
    preset: false,
    where: 'presentations that become a PDF',
  },
  comments: {
    brief: 'Keeps or drops them.',
    means: 'Whether comments are annotations of the PDF, or left out.',
    preset: 'annotations',
    where: 'text documents that become a PDF',
  },
  tracked_changes: {
    brief: 'Accepts or rejects them.',
    means: 'What becomes of tracked changes: as_set in the document, all accepted, or all rejected.',
    preset: 'as_set',
    where: 'text documents',
  },
  pdfa: {
    means: 'PDF/A-2b, without comments.',
    where: 'documents, sheets and slides that become a PDF',
  },
  csv_types: {
    brief: 'Whether 007 or 1,234.50 is text or a number.',
    means: 'Whether 007 or 1,234.50 is read as text or as a number.',
    preset: 'as_written',
    where: 'CSV and TSV that become sheets or data',
  },
  charset: {
    brief: 'Encoding of a text.',
    means: 'Encoding of a text, in place of the declared or recognised one.',
    where: 'texts, pages, tables, data and subtitles',
  },
  chunks: {
    brief: 'Cuts the text.',
    means: 'Adds pieces for retrieval, cut at headings, with the headings above each; of at most so many tokens, by estimate.',
    where: 'documents that become JSON',
  },
  chunk_overlap: {
    brief: 'What they share.',
    means: 'How much of the end of a piece the next one under the same heading begins with.',
    preset: 0,
    where: 'documents that become JSON, with chunks',
  },
  ocr_lang: {
    brief: 'Languages of the text.',
    means: 'Languages of the text that is recognised.',
    preset: 'eng',
    asks: true,
    where: 'pictures and scanned PDFs that become text; sent with target pdf, it makes a searchable PDF',
  },
};

/** @param own of the tool that has the field; of a conversion none */
export const textOf = (name: string, own?: OptionTexts): OptionText | undefined =>
  own?.[name] ?? (Object.hasOwn(optionTexts, name) ? optionTexts[name as FormOption] : undefined);

/**
 * A field's JSON Schema whose description says all: what it does, what it takes with its unit, its default, and where it has an effect.
 * @param tool that has the field; of a conversion none
 */
export function describedSchema(name: string, field: z.ZodType, tool?: { readonly texts?: OptionTexts }): Schema {
  const { description: _, ...rules } = fieldSchema(field);
  const { means, preset, asks, where } = textOf(name, tool?.texts) ?? {};
  // A tool's own default is in its schema, and a tool takes nothing on which its fields have no effect.
  const value = rules.default ?? (tool === undefined ? preset : undefined);
  const said = [
    means ?? '',
    `Takes ${wordsOf(field)}.`,
    value === undefined ? '' : `Default: ${value}.`,
    tool !== undefined || where === undefined ? '' : `Has an effect on ${where}.`,
    tool !== undefined && isRequired(field) ? 'Required.' : '',
  ];
  // A generated client sends what a schema gives as its default.
  const isSent = value !== undefined && asks !== true;
  return { ...rules, ...(isSent ? { default: value } : {}), description: said.filter(Boolean).join(' ') };
}
