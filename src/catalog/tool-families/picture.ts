/** What the picture tools have in common: what they take, and what they give back. */
import { z } from 'zod';
import { READERS, WRITERS } from '../engines/imagemagick/coders.ts';
import { formats } from '../formats.ts';
import { optionSchemas } from '../options/options.ts';
import { type Input, ONE_FILE, type Tool } from '../tool.ts';

/** Read by engines of their own. */
const OWN = ['avif', 'heic', 'jxl'];

/** Every picture that some engine reads. */
export const PICTURES: readonly string[] = [...formats.values()]
  .filter(({ id, family }) => family === 'image' && (READERS[id] !== undefined || OWN.includes(id)))
  .map(({ id }) => id);

/** Formats that are written as well as read; others come out as PNG. */
const WRITTEN = new Set([...OWN, ...Object.keys(READERS).filter((id) => WRITERS[id] !== undefined)]);
/** Black and white only. */
const WITHOUT_SHADES = new Set(['pbm', 'xbm']);

export const sameFormat = (source: string): string => (WRITTEN.has(source) ? source : 'png');

/** For edits whose result has shades between black and white. */
export const inShades = (source: string): string => (WITHOUT_SHADES.has(source) ? 'png' : sameFormat(source));

/** For sizes that are exact: an icon comes in its own, squares of 256 px at most. */
export const atAnySize = (source: string): string => (source === 'ico' ? 'png' : sameFormat(source));

/** Same format, fewer bytes, at a quality between 0 and 100. */
export const compression = (slug: string, summary: string, accepts: readonly string[]): Tool => {
  const input = z.object({ img_quality: optionSchemas.img_quality.default(80) });
  const quality = (given: Input) => (given as z.output<typeof input>).img_quality;
  return {
    slug,
    summary,
    family: 'image',
    accepts,
    files: ONE_FILE,
    input,
    work: { convert: (source, given) => ({ target: source, options: { compress: quality(given) } }) },
    neverLarger: true,
  };
};
