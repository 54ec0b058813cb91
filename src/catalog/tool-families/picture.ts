/** What the picture tools have in common: input and output formats. */
import { z } from 'zod';
import type { SearchWords } from '../../contracts/search-words.ts';
import { READERS, WRITERS } from '../engines/pictures/imagemagick/coders.ts';
import { formats } from '../formats.ts';
import { optionSchemas } from '../options/options.ts';
import { type Input, ONE_FILE, type Tool } from '../tool.ts';

/** Formats with their own engines. */
const OWN = ['avif', 'heic', 'jxl', 'dds', 'fits'];
/** Only read. */
const READ = ['xcf', 'apng'];

/** Every picture format that some engine reads, but for rare ones: they are converted to a usual one first. */
export const PICTURES: readonly string[] = [...formats.values()]
  .filter(
    ({ id, family, use }) => family === 'image' && use !== 'rare' && (READERS[id] !== undefined || OWN.includes(id) || READ.includes(id)),
  )
  .map(({ id }) => id);

/** Formats that can also be written; others become PNG. */
const WRITTEN = new Set([...OWN, ...Object.keys(READERS).filter((id) => WRITERS[id] !== undefined)]);
/** Formats with only black and white. */
const WITHOUT_SHADES = new Set(['pbm', 'xbm', 'cal', 'jbig', 'wbmp', 'art', 'pdb']);

export const sameFormat = (source: string): string => (WRITTEN.has(source) ? source : 'png');

/** The target format of edits whose result has shades of grey. */
export const inShades = (source: string): string => (WITHOUT_SHADES.has(source) ? 'png' : sameFormat(source));

/** The target format of edits with exact sizes: icons have their own sizes, squares of 256 px at most. */
export const atAnySize = (source: string): string => (source === 'ico' ? 'png' : sameFormat(source));

/** A tool that compresses a picture in its own format. */
export const compression = (slug: string, summary: string, search: SearchWords, accepts: readonly string[]): Tool => {
  const input = z.object({ img_quality: optionSchemas.img_quality.default(80) });
  const quality = (given: Input) => (given as z.output<typeof input>).img_quality;
  return {
    slug,
    summary,
    search,
    family: 'image',
    accepts,
    files: ONE_FILE,
    input,
    example: { img_quality: '70' },
    aliases: { quality: 'img_quality' },
    work: { convert: (source, given) => ({ target: source, options: { compress: quality(given) } }) },
    neverLarger: true,
  };
};
