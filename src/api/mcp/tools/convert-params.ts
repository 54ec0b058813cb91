/** What a conversion's options mean to an assistant: their bounds are the catalog's (`catalog/options/options.ts`). */
import type { FormOption } from '../../../catalog/options/options.ts';
import type { Param } from './tool.ts';

/** What it does, and what happens without it, where that is one value. */
type Words = readonly [means: string, preset?: string | number | boolean];

const WORDS: Readonly<Record<FormOption, Words>> = {
  img_quality: ['Quality of JPG, WebP, AVIF, HEIC, JXL, JP2 and of pictures in a PDF.', 80],
  img_resize_w: ['Width of the result in pixels. Without height the ratio is kept.'],
  img_resize_h: ['Height of the result in pixels. Without width the ratio is kept.'],
  img_rotate: ['Turns clockwise by degrees, or mirrors.'],
  img_crop_x: ['Left edge of the part to keep, pixels.', 0],
  img_crop_y: ['Upper edge of the part to keep, pixels.', 0],
  img_crop_w: ['Width of the part to keep, pixels.'],
  img_crop_h: ['Height of the part to keep, pixels.'],
  mp3_mode: ['Bit rate of an MP3: variable, constant or average.', 'vbr'],
  mp3_quality: ['Quality of a variable MP3.', 2],
  mp3_bitrate: ['Bit rate of a constant or average MP3.', 192],
  wav_rate: ['Sample rate of a WAV. Without it the source’s own.'],
  wav_depth: ['Sample size of a WAV. Without it the source’s own, or 16.'],
  wav_channels: ['Channels of a WAV. Without it the source’s own.'],
  audio_bitrate: ['Bit rate of other sound.', 192],
  audio_rate: ['Sample rate of other sound. Without it the source’s own.'],
  audio_channels: ['Channels of other sound. Without it the source’s own.'],
  video_codec: ['Codec, as far as the container takes it. Without it the customary one.'],
  video_crf: ['Quality of a video: lower is better.', 23],
  video_width: ['Width of a video in pixels. Without height the ratio is kept.'],
  video_height: ['Height of a video in pixels. Without width the ratio is kept.'],
  video_fps: ['Frame rate. Without it the source’s own.'],
  start_time: ['Where to begin in a recording.', '0'],
  end_time: ['Where to end in a recording. Without it its end.'],
  track: ['Which sound track, from 1 on.', 1],
  dpi: ['Dots per inch at which pages and drawings become pictures.', 150],
  background: ['Colour under what is transparent.', '#ffffff'],
  strip_metadata: ['Leaves out metadata of pictures.', false],
  password: ['Opens an encrypted PDF or office file.'],
  pages: ['Which pages of a document.', 'all'],
  csv_types: ['How values of a CSV that look like numbers are read: 007 stays 007, or becomes 7.', 'as_written'],
  ocr_lang: ['Language of text in pictures.', 'eng'],
};

const options = Object.entries(WORDS).map(([field, [means, preset]]): [string, Param] => [
  field,
  { field, means, ...(preset === undefined ? {} : { preset }) },
]);

export const CONVERT_PARAMS: Readonly<Record<string, Param>> = {
  to_format: {
    field: 'to_format',
    means: 'Extension to convert to, as png, jpg, pdf, docx, mp3, mp4, txt.',
    required: true,
    schema: { type: 'string', minLength: 2, maxLength: 5 },
  },
  from_format: {
    field: 'from_format',
    means: 'Extension of the source. Needed only where the content does not show the format, as md or csv.',
    schema: { type: 'string', maxLength: 16 },
  },
  ...Object.fromEntries(options),
};
