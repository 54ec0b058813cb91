/** The fonts of this machine: a document that names one which is missing is laid out by another, and its lines break elsewhere. */
import { askSystem } from '../../exec/system.ts';
import { type Finding, fine, unseen, weak } from './finding.ts';

/** A family, its Debian package, and which text needs it. The same as in images/office and images/web. */
export const WANTED_FONTS: readonly (readonly [family: string, packaged: string, used: string])[] = [
  ['Liberation Sans', 'fonts-liberation', 'Arial, Times New Roman and Courier New'],
  ['Carlito', 'fonts-crosextra-carlito', 'Calibri'],
  ['Caladea', 'fonts-crosextra-caladea', 'Cambria'],
  ['DejaVu Sans', 'fonts-dejavu-core', 'symbols'],
  ['Noto Sans', 'fonts-noto-core', 'most scripts'],
  ['Noto Sans CJK SC', 'fonts-noto-cjk', 'Chinese, Japanese and Korean'],
  ['Noto Color Emoji', 'fonts-noto-color-emoji', 'emoji'],
];

const LIST_MS = 30_000;

/** @returns families; undefined where fontconfig is not installed */
export async function readFonts(): Promise<readonly string[] | undefined> {
  try {
    const { stdout } = await askSystem('fc-list', [':', 'family'], LIST_MS);
    // A family has its names in several languages, between commas.
    return [...new Set(stdout.split('\n').flatMap((line) => line.split(',').map((name) => name.trim().replaceAll('\\', ''))))].filter(
      Boolean,
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export function judgeFonts(families: readonly string[] | undefined): Finding {
  if (families === undefined)
    return unseen(
      'fonts',
      'which fonts are installed is not known: there is no fc-list',
      'install fontconfig (Debian: apt-get install fontconfig)',
    );
  const there = new Set(families);
  const lacking = WANTED_FONTS.filter(([family]) => !there.has(family));
  const facts = { families: there.size, missing: lacking.map(([family]) => family) };
  if (lacking.length === 0)
    return fine('fonts', `the fonts that documents ask for, or equal ones, are installed (${there.size} families)`, facts);
  const says = `text is set in other fonts than it was made for: ${lacking.map(([family, , used]) => `${family} is missing, for ${used}`).join('; ')}`;
  return weak('fonts', says, `run as root: apt-get install ${lacking.map(([, packaged]) => packaged).join(' ')}`, facts);
}
