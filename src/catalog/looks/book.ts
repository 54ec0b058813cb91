/** E-books in Palm databases (MobileRead wiki, "PDB" and "MOBI"): a table of records, the first of which is a header. */
import { has, u16be, u32be } from './bytes.ts';
import type { Sample } from './sample.ts';

/** Where the offset of the first record stands, and in that record the version of the book. */
const [FIRST_RECORD, VERSION] = [78, 36] as const;
/** From this version on, a book is a Kindle Format 8. */
const KINDLE_8 = 8;

/** A file that holds a book twice, in the old format and in the new one, begins with the old one. */
export const isMobipocket = (sample: Sample): boolean => (versionOf(sample) ?? KINDLE_8) < KINDLE_8;
export const isKindle8 = (sample: Sample): boolean => (versionOf(sample) ?? 0) >= KINDLE_8;

function versionOf({ head }: Sample): number | undefined {
  if (!has(head, 60, 'BOOKMOBI')) return undefined;
  const record = u32be(head, FIRST_RECORD);
  // Its first field is the compression: 1 none, 2 PalmDOC, 17480 Huffman.
  const isHeader = [1, 2, 17_480].includes(u16be(head, record)) && has(head, record + 16, 'MOBI');
  return isHeader ? u32be(head, record + VERSION) : undefined;
}
