/** Camera raw files, which begin like TIFF: a TIFF reader would find only the preview. */
import { has, latin1, u16be, u16le, u32be, u32le } from '../looks/bytes.ts';
import type { Detected, Sample } from '../looks/sample.ts';
import { asFormat, asRefused } from './verdict.ts';

/** DNGVersion (Digital Negative 1.4, chapter 4). */
const DNG_VERSION = 50_706;
/** TIFF 6.0, section 8, and Technical Note 1 (1995). */
const [SUBFILE_TYPE, MAKE, SUB_DIRECTORIES] = [254, 271, 330];
/** A directory of a photo has a few dozen entries; more are not followed. */
const MOST_ENTRIES = 500;

export function raw({ head }: Sample): Detected | undefined {
  const little = has(head, 0, 'II*\0');
  if (!little && !has(head, 0, 'MM\0*')) return undefined;
  if (little && has(head, 8, 'CR')) return asFormat('cr2');
  const [u16, u32] = little ? [u16le, u32le] : [u16be, u32be];
  const at = u32(head, 4);
  const entries = Math.min(u16(head, at), MOST_ENTRIES);
  const tags = Array.from({ length: entries }, (_, entry) => u16(head, at + 2 + entry * 12));
  if (tags.includes(DNG_VERSION)) return asFormat('dng');
  // NEF, ARW and the like: the first picture is a smaller version of one in a directory below.
  const fieldOf = (tag: number): number | undefined => {
    const entry = tags.indexOf(tag);
    return entry < 0 ? undefined : u32(head, at + 2 + entry * 12 + 8);
  };
  const [kind, make] = [fieldOf(SUBFILE_TYPE), fieldOf(MAKE)];
  if (kind === undefined || (kind & 1) !== 1 || make === undefined || !tags.includes(SUB_DIRECTORIES)) return undefined;
  const maker = latin1(head, make, LONGEST_MAKE).toUpperCase();
  const found = MAKERS.find(([name]) => maker.startsWith(name));
  return found === undefined ? asRefused('camera raw file') : asFormat(found[1]);
}

/** What each writes into its files, the longest first word of it. */
const MAKERS: readonly (readonly [string, string])[] = [
  ['NIKON', 'nef'],
  ['SONY', 'arw'],
  ['SAMSUNG', 'srw'],
  ['PENTAX', 'pef'],
  ['RICOH', 'pef'],
];
const LONGEST_MAKE = 20;
