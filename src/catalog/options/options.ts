/** The options of a conversion: name, type and bounds of each, and how to parse them from a form. */
import { z } from 'zod';
import { Failure } from '../../errors.ts';
import { type Edits, editNames } from './edits.ts';
import { colour, decimal, extent, flag, integer, LONGEST_VALUE, numberOf, offset, oneOf, pixels, textField } from './fields.ts';
import { pageRanges } from './pages.ts';
import { seconds } from './time.ts';

/** Tesseract's codes of the languages that every installation has. If one of several were missing, Tesseract would silently skip it. */
const OCR_LANGUAGES: readonly string[] = 'eng deu fra spa ita por nld pol rus ukr tur ara hin jpn kor chi_sim chi_tra'.split(' ');

/** Any name of an encoding in the Encoding Standard. */
function isCharset(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== '';
  } catch {
    return false;
  }
}

/** One row per option. A refused client reads the description as `allowed`. Tools with the same option use the same row. */
export const optionSchemas = {
  img_quality: integer(0, 100, ''),
  img_resize_w: pixels,
  img_resize_h: pixels,
  img_rotate: oneOf(['90', '180', '270', 'flip-h', 'flip-v']),
  img_crop_x: offset,
  img_crop_y: offset,
  img_crop_w: extent,
  img_crop_h: extent,
  mp3_mode: oneOf(['vbr', 'cbr', 'abr']),
  mp3_quality: integer(0, 9, ' (LAME V, 0 is best)'),
  mp3_bitrate: numberOf([32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320], ' kbit/s'),
  wav_rate: integer(8000, 192_000, ' Hz'),
  wav_depth: numberOf([8, 16, 24, 32], ' bit'),
  wav_channels: integer(1, 8, ''),
  audio_bitrate: integer(32, 512, ' kbit/s'),
  audio_rate: integer(8000, 192_000, ' Hz'),
  audio_channels: integer(1, 8, ''),
  loudness: decimal(-36, -5, ' LUFS'),
  true_peak: decimal(-9, 0, ' dBTP'),
  audio_track: integer(1, 99, ''),
  video_codec: oneOf(['h264', 'h265', 'vp8', 'vp9', 'av1', 'mpeg4', 'mpeg2', 'theora', 'wmv2']),
  video_crf: integer(0, 51, ''),
  video_width: pixels,
  video_height: pixels,
  video_fps: integer(1, 120, ' frames a second'),
  deinterlace: oneOf(['auto', 'on', 'off']),
  tone_map: oneOf(['auto', 'mobius', 'hable', 'reinhard', 'off']),
  burn_subtitles: integer(1, 99, ''),
  fit: oneOf(['fill', 'cover', 'contain']),
  start_time: textField.transform(seconds).pipe(z.number().min(0)).describe('seconds or HH:MM:SS(.mmm)'),
  end_time: textField.transform(seconds).pipe(z.number().min(0)).describe('seconds or HH:MM:SS(.mmm), after start_time'),
  track: integer(1, 99, ''),
  dpi: integer(36, 600, ''),
  background: colour,
  strip_metadata: flag,
  password: textField
    .refine((value) => Buffer.byteLength(value) <= 127 && !/[\r\n\0]/.test(value))
    .describe('1 to 127 bytes of UTF-8 in one line'),
  pages: textField
    .max(500)
    .transform(pageRanges)
    .pipe(z.array(z.tuple([z.number().int(), z.number().int()])).min(1))
    .describe('pages from 1 on, as in 1 or 2-5,8 or all; at most 500 characters'),
  worksheet: textField.max(100).describe('a number from 1 on, or a name of at most 100 characters'),
  sheet_fit: oneOf(['as_set', 'width', 'page']),
  hidden_slides: flag,
  notes: flag,
  comments: oneOf(['annotations', 'none']),
  tracked_changes: oneOf(['as_set', 'accept', 'reject']),
  pdfa: oneOf(['2b']),
  csv_types: oneOf(['as_written', 'auto']),
  charset: textField.max(40).toLowerCase().refine(isCharset).describe('a name in the Encoding Standard, as in windows-1251 or shift_jis'),
  chunks: integer(64, 8192, ' tokens'),
  chunk_overlap: integer(0, 4096, ' tokens, at most half of chunks'),
  ocr_lang: textField
    .toLowerCase()
    .refine((value) => value === 'auto' || (value.split('+').length <= 3 && value.split('+').every((code) => OCR_LANGUAGES.includes(code))))
    .describe(`auto, or up to three joined by +, as in deu+fra, of ${OCR_LANGUAGES.join(', ')}`),
} as const;

/** Options that a form may have. */
export type FormOption = keyof typeof optionSchemas;
export type OptionName = FormOption | keyof Edits;
export type Options = { readonly [N in FormOption]?: z.output<(typeof optionSchemas)[N]> | undefined } & Edits;

/** The edits of a picture that a form may request. */
export const PICTURE_EDITS = [
  'img_rotate',
  'img_crop_x',
  'img_crop_y',
  'img_crop_w',
  'img_crop_h',
  'img_resize_w',
  'img_resize_h',
  'fit',
] as const satisfies readonly FormOption[];

/**
 * Options about the source apply to the first hop that honours them, those about the result's shape to the last that does, and the rest to every hop.
 * What kind of file the result is, only the last hop of all decides: a picture of a page is no PDF/A.
 */
const FIRST: readonly OptionName[] = [
  ...([
    'password',
    'pages',
    'start_time',
    'end_time',
    'track',
    'audio_track',
    'burn_subtitles',
    'worksheet',
    'sheet_fit',
    'hidden_slides',
    'notes',
    'comments',
    'tracked_changes',
    'charset',
    'ocr_lang',
  ] as const),
];
const LAST: readonly OptionName[] = [...PICTURE_EDITS, ...editNames, 'loudness', 'true_peak'];

export function optionApplies(name: OptionName): 'first' | 'last' | 'each' | 'result' {
  if (name === 'pdfa') return 'result';
  if (FIRST.includes(name)) return 'first';
  return LAST.includes(name) ? 'last' : 'each';
}

export const formOptionNames = Object.keys(optionSchemas) as FormOption[];
/** The options of forms, and those that only tools set. */
export const optionNames: readonly OptionName[] = [...formOptionNames, ...editNames];
export const isOption = (name: string): name is FormOption => Object.hasOwn(optionSchemas, name);

/** What is sent, and has no effect without others. @returns names, each with what it lacks */
export function lackingOptions(options: Options): readonly { readonly name: FormOption; readonly lacks: string }[] {
  const { fit = 'fill', img_resize_w: w, img_resize_h: h, video_width: wide, video_height: high } = options;
  const sized = (w !== undefined && h !== undefined) || (wide !== undefined && high !== undefined);
  return [
    ...(fit === 'fill' || sized ? [] : [{ name: 'fit' as const, lacks: 'both a width and a height' }]),
    ...(options.chunk_overlap === undefined || options.chunk_overlap === 0 || options.chunks !== undefined
      ? []
      : [{ name: 'chunk_overlap' as const, lacks: 'chunks' }]),
    ...(options.true_peak === undefined || options.true_peak === -1 || options.loudness !== undefined
      ? []
      : [{ name: 'true_peak' as const, lacks: 'loudness' }]),
  ];
}

/** A description of the values that an option takes. */
export const allowed = (name: FormOption): string => optionSchemas[name].description ?? '';

/**
 * Reads the options from a form's fields. Empty fields count as not sent; unknown names are left to the caller.
 * @throws Failure `INVALID_OPTION` with `option`, `received` (never a password) and `allowed`
 */
export function readOptions(fields: ReadonlyMap<string, string>): Options {
  const options: Record<string, unknown> = {};
  for (const name of formOptionNames) {
    const given = fields.get(name);
    if (given !== undefined && given.length > LONGEST_VALUE) throw invalid(name, given);
    // A password may begin or end with a space.
    const value = name === 'password' ? given : given?.trim();
    if (value === undefined || value === '') continue;
    const read = optionSchemas[name].safeParse(value);
    if (!read.success) throw invalid(name, value);
    options[name] = read.data;
  }
  const { start_time: start, end_time: end, chunks, chunk_overlap: overlap } = options as Options;
  if (overlap !== undefined && chunks !== undefined && overlap > chunks / 2)
    throw invalid('chunk_overlap', fields.get('chunk_overlap') ?? '');
  if (end !== undefined && end <= (start ?? 0)) throw invalid('end_time', fields.get('end_time') ?? '');
  return options as Options;
}

/** The refusal of one option's value. */
export function invalid(option: FormOption, received: string, allows: string = allowed(option)): Failure {
  const shown = option === 'password' ? '(hidden)' : received.slice(0, 100);
  return new Failure('INVALID_OPTION', {
    says: `The option ${option} is "${shown}"; expected ${allows}.`,
    details: { option, received: shown, allowed: allows },
  });
}

/** For a job's record: without unset options, which JSON cannot represent, and without the password, which the record stores encrypted. */
export const optionsAsJson = ({ password: _, ...options }: Options): Record<string, unknown> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
