/** What a conversion's options mean to an assistant: their bounds are the catalog's (`catalog/options/options.ts`). */
import type { FormOption } from '../../../catalog/options/options.ts';
import type { Param } from './tool.ts';

/** What it does, and what happens without it, where that is one value. */
type Words = readonly [means: string, preset?: string | number | boolean];

const WORDS: Readonly<Record<FormOption, Words>> = {
  img_quality: ['Quality of JPG, WebP, AVIF, HEIC, JXL, JP2 and of images in a PDF.', 80],
  img_resize_w: ['Image width. Alone it keeps the aspect ratio.'],
  img_resize_h: ['Image height.'],
  img_rotate: ['Rotates an image clockwise by degrees, or mirrors it.'],
  img_crop_x: ['Left edge of the crop.', 0],
  img_crop_y: ['Top edge of the crop.', 0],
  img_crop_w: ['Width of the crop.'],
  img_crop_h: ['Height of the crop.'],
  mp3_mode: ['Bit rate of an MP3: variable, constant or average.', 'vbr'],
  mp3_quality: ['Quality of a variable MP3.', 2],
  mp3_bitrate: ['Bit rate of a cbr or abr MP3; alone it means cbr.'],
  wav_rate: ['Sample rate of a WAV. Default: the source’s.'],
  wav_depth: ['Sample size of a WAV. Default: the source’s.'],
  wav_channels: ['Channels of a WAV. Default: the source’s.'],
  audio_bitrate: ['Bit rate of other audio. Default: copied where possible, or 192.'],
  audio_rate: ['Sample rate of other audio. Default: the source’s.'],
  audio_channels: ['Channels of other audio. Default: the source’s.'],
  video_codec: ['Codec, if the container supports it. Default: the usual one.'],
  video_crf: ['Constant rate factor; lower is better. Default: copied where possible, or 23.'],
  video_width: ['Width of a video. Alone it keeps the aspect ratio.'],
  video_height: ['Height of a video.'],
  video_fps: ['Frame rate. Default: the source’s.'],
  start_time: ['Start of the part of audio or video to keep.', '0'],
  end_time: ['End of that part.'],
  track: ['Which audio track.', 1],
  dpi: ['Resolution at which PDF pages and SVG are rendered, dots per inch.', 150],
  background: ['Color that replaces transparency where the target has none.', '#ffffff'],
  strip_metadata: ['Removes EXIF, titles, dates and places.'],
  password: ['To open an encrypted file.'],
  pages: ['Which to convert.', 'all'],
  csv_types: ['How values of a CSV that look like numbers are read.', 'as_written'],
  ocr_lang: ['OCR languages. Alone they start no OCR.', 'eng'],
};

const options = Object.entries(WORDS).map(([field, [means, preset]]): [string, Param] => [
  field,
  { field, means, ...(preset === undefined ? {} : { preset }) },
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
