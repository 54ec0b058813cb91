/**
 * What Pandoc's reader and writer of ODT leave out.
 *
 *   odt.ts INPUT OUTPUT          with the cells that others cover (ODF 1.3, part 3, 9.1.5): what stands beside and below would be in their place
 *   odt.ts --read INPUT OUTPUT   the rows of a table that are repeated on each page (9.1.7) are rows as others: Pandoc reads no text in them
 *
 * A document without such cells or rows is copied. Prints an answer as residents give.
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

const HEADER_ROWS = /<\/?table:table-header-rows(?:\s[^<>]{0,500})?>/g;

const isRead = process.argv[2] === '--read';
const [input = '', output = ''] = process.argv.slice(isRead ? 3 : 2);

await answering(() => {
  const entries = [...zipEntries(readFileSync(input))];
  const found = entries.find(({ name }) => name === CONTENT);
  const content = found === undefined ? '' : unpackedEntry(found, MOST_BYTES).toString();
  if (!content.includes(isRead ? '<table:table-header-rows' : '-spanned=')) copyFileSync(input, output);
  else {
    const changed = Buffer.from(isRead ? content.replaceAll(HEADER_ROWS, '') : withCoveredCells(content));
    writePieces(output, zipOf(partsOf(entries, changed)));
  }
  return [];
});

function* partsOf(entries: readonly ZipEntry[], changed: Buffer): Generator<{ readonly name: string; readonly bytes: Buffer }> {
  let left = MOST_BYTES - changed.length;
  for (const entry of entries) {
    const bytes = entry.name === CONTENT ? changed : partOf(entry, left);
    if (bytes === undefined) continue;
    if (bytes !== changed) left -= bytes.length;
    yield { name: entry.name, bytes };
  }
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
