/** The option that an unknown name was probably meant as: a mistyped one, or what other services and programs call it. */
import { distance } from '../nearest.ts';

const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  to_format: ['to', 'format', 'target', 'target_format', 'output_format', 'output', 'ext', 'extension'],
  from_format: ['from', 'source_format', 'input_format'],
  width: ['img_resize_w'],
  height: ['img_resize_h'],
  img_resize_w: ['width', 'resize_width'],
  img_resize_h: ['height', 'resize_height'],
  img_rotate: ['rotate', 'rotation', 'angle', 'flip'],
  img_quality: ['quality', 'jpeg_quality'],
  quality: ['img_quality'],
  audio_bitrate: ['bitrate'],
  loudness: ['lufs', 'normalize', 'normalise', 'loudnorm', 'volume'],
  burn_subtitles: ['subtitles', 'burn', 'hardsub'],
  fit: ['resize_mode', 'object_fit', 'img_fit'],
  dpi: ['resolution', 'density'],
  pages: ['page', 'page_range'],
  start_time: ['start', 'from'],
  end_time: ['end', 'to'],
  ocr_lang: ['lang', 'language', 'ocr_language'],
  filename: ['name', 'file_name'],
};
/** A longer name was not mistyped, characters. */
const LONGEST_NAME = 40;

/** @returns one of the known names; undefined where none is near */
export function meantName(sent: string, known: readonly string[]): string | undefined {
  if (sent.length > LONGEST_NAME || known.length === 0) return undefined;
  const name = sent.toLowerCase().replaceAll('-', '_');
  return (
    known.find((one) => one === name) ??
    known.find((one) => Object.hasOwn(OTHER_NAMES, one) && OTHER_NAMES[one]?.includes(name)) ??
    known.find((one) => one.endsWith(`_${name}`)) ??
    nearestOf(name, known)
  );
}

function nearestOf(name: string, known: readonly string[]): string | undefined {
  const near = known.flatMap((one) => (one.length > 3 ? { one, far: distance(one, name) } : []));
  return near.toSorted((a, b) => a.far - b.far).find(({ far }) => far <= 2)?.one;
}
