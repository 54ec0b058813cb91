/**
 * What Pandoc's reader and writer of ODT leave out.
 *
 *   odt.ts INPUT OUTPUT          with the cells that others cover (ODF 1.3, part 3, 9.1.5): what stands beside and below would be in their place
 *   odt.ts --read INPUT OUTPUT   the rows of a table that are repeated on each page (9.1.7) are rows as others: Pandoc reads no text in them; formulas
 *                                are named without a slash at the end, which it does not find; and a document without styles, which it does not read, has some
 *
 * A document without these is copied. Prints an answer as residents give.
 */
import { copyFileSync, readFileSync } from 'node:fs';
import { unpackedEntry, type ZipEntry, zipEntries, zipOf } from '../archives/zip.ts';
import { FileRefused } from '../data/values/value.ts';
import { answering } from '../process/answer.ts';
import { writePieces } from '../process/pieces.ts';
import { withCoveredCells } from './odt/covered.ts';

const CONTENT = 'content.xml';
/** Bytes of all parts, unpacked. */
const MOST_BYTES = 512 << 20;

const STYLES = {
  name: 'styles.xml',
  bytes: Buffer.from(
    '<office:document-styles xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" office:version="1.2"><office:styles/></office:document-styles>',
  ),
};
/** A formula, in a folder of the package (10.4.6.2). */
const NAMED_AS_FOLDER = /(<draw:object\s[^<>"]{0,100}xlink:href="[^"<>]{1,300})\/"/g;
const HEADER_ROWS = /<\/?table:table-header-rows(?:\s[^<>]{0,500})?>/g;

const isRead = process.argv[2] === '--read';
const [input = '', output = ''] = process.argv.slice(isRead ? 3 : 2);

await answering(() => {
  const entries = [...zipEntries(readFileSync(input))];
  const found = entries.find(({ name }) => name === CONTENT);
  const content = found === undefined ? '' : unpackedEntry(found, MOST_BYTES).toString();
  const written = isRead ? content.replaceAll(HEADER_ROWS, '').replaceAll(NAMED_AS_FOLDER, '$1"') : withCoveredCells(content);
  const isUnstyled = isRead && content !== '' && entries.every(({ name }) => name !== STYLES.name);
  if (written === content && !isUnstyled) copyFileSync(input, output);
  else writePieces(output, zipOf(partsOf(entries, Buffer.from(written), isUnstyled)));
  return [];
});

function* partsOf(
  entries: readonly ZipEntry[],
  changed: Buffer,
  isUnstyled: boolean,
): Generator<{ readonly name: string; readonly bytes: Buffer }> {
  let left = MOST_BYTES - changed.length;
  for (const entry of entries) {
    const bytes = entry.name === CONTENT ? changed : partOf(entry, left);
    if (bytes === undefined) continue;
    if (bytes !== changed) left -= bytes.length;
    yield { name: entry.name, bytes };
  }
  if (isUnstyled) yield STYLES;
}

/** @returns undefined for a damaged part of a document that is only read: Pandoc does without */
function partOf(entry: ZipEntry, most: number): Buffer | undefined {
  try {
    return unpackedEntry(entry, most);
  } catch (error) {
    if (isRead && error instanceof FileRefused && error.reason === 'corrupt_input') return undefined;
    throw error;
  }
}
