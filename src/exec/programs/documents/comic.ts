/**
 * Unpacks the pictures of a comic book, each to a file that is named by its place, in the order in which they are read: that of their names, numbers by
 * their value.
 *
 *   comic.ts INPUT FOLDER
 *
 * Prints an answer as residents give, with the pages. What is no picture is left out.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MAX_PAGES } from '../../../catalog/bounds.ts';
import { isUnpackable, unpackedEntry, type ZipEntry, zipEntries } from '../archives/zip.ts';
import { beyond, FileRefused } from '../data/values/value.ts';
import { answering } from '../process/answer.ts';
import { kindOf } from './comic/kinds.ts';

/** Bytes of all pictures together, unpacked. */
const MOST_BYTES = 512 << 20;

/** Longer names are compared up to here, characters: numbers of any length take time to compare. */
const COMPARED = 500;
/** By its name alone: what it holds cannot be seen. */
const PICTURE = /\.(?:jpe?g|png|gif|webp|avif|bmp|tiff?|jxl|heic|jp2)$/i;
/** What macOS and file managers add. */
const ADDED = /(?:^|\/)(?:\.|__MACOSX\/)/;

/** A picture of the book. `decode`: its format, where a PDF cannot contain it as it is. */
interface Page {
  readonly name: string;
  readonly decode?: string;
}

const [input = '', folder = ''] = process.argv.slice(2);
const pages: Page[] = [];

await answering(
  () => {
    let left = MOST_BYTES;
    for (const entry of inOrderOfReading(zipEntries(readFileSync(input), { others: true }))) {
      if (entry.isEncrypted) throw new FileRefused('unsupported_variant', 'The comic book is encrypted.');
      if (!isUnpackable(entry)) {
        if (!PICTURE.test(entry.name)) continue;
        throw new FileRefused('unsupported_variant', 'A page is packed by another method than Deflate, which is not read in comic books.');
      }
      const bytes = unpackedEntry(entry, left);
      left -= bytes.length;
      const kind = kindOf(bytes);
      if (kind === undefined) continue;
      if (kind.isUnread)
        throw new FileRefused('unsupported_variant', `A page is a picture of a format that is not read in comic books: ${kind.format}.`);
      if (pages.length === MAX_PAGES) throw beyond('pages', MAX_PAGES);
      const name = `${String(pages.length + 1).padStart(4, '0')}.${kind.format}`;
      writeFileSync(join(folder, name), bytes, { flag: 'wx' });
      pages.push(kind.isPlain ? { name } : { name, decode: kind.format });
    }
    if (pages.length === 0) throw new FileRefused('corrupt_input', 'The comic book contains no picture.');
    return [];
  },
  () => ({ pages }),
);

/** By names, with numbers by their value, as comic book readers do. Folders and hidden files are left out. */
function inOrderOfReading(entries: Iterable<ZipEntry>): readonly ZipEntry[] {
  const { compare } = new Intl.Collator('en', { numeric: true });
  return [...entries]
    .filter(({ name }) => !name.endsWith('/') && !ADDED.test(name))
    .toSorted((a, b) => compare(a.name.slice(0, COMPARED), b.name.slice(0, COMPARED)));
}
