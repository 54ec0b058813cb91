/**
 * Counts what makes a small document large work, before a converter loads it: a kilobyte can hold a thousand tables within one another.
 *
 *   count.ts INPUT FORMAT
 *
 * Prints one line of JSON, `{"depth", "cells", "chunks", "bookmarks", "paragraphs"}`: how deep tables are nested, cells of all tables, documents inserted into
 * the document (`altChunk`, each use counts), bookmarks, and paragraphs with headings; and of a page in HTML `"unreadTables"`, whether Pandoc would not read some table of it. It reads tags and resolves nothing, 256 MiB of unpacked text at most; what it cannot
 * read is left to the converter, which says what is wrong with it.
 */
import { createReadStream, readFileSync } from 'node:fs';
import { markupCounter, NOTHING, rtfCounter, type TagCounts, type TextCounter } from './count/counters.ts';
import { partsOf } from './count/package.ts';
import { TableTags } from './count/tables.ts';

const MOST_TEXT = 256 << 20;
/** A document inserted into another may have one inserted itself. */
const MOST_NESTING = 3;

let left = MOST_TEXT;

async function countText(chunks: AsyncIterable<Buffer>, counter: TextCounter): Promise<TagCounts> {
  let encoding: BufferEncoding | undefined;
  try {
    for await (const chunk of chunks) {
      // In UTF-16, every second byte of XML is zero; latin1 is enough for the names of tags in everything else.
      encoding ??= chunk[0] === 0xff && chunk[1] === 0xfe ? 'utf16le' : 'latin1';
      counter.add(chunk.toString(encoding));
      left -= chunk.length;
      if (left <= 0) break;
    }
  } catch {
    // A damaged part: what was read of it counts.
  }
  return counter.counts();
}

/** The counts of all parts together; tables nest within one part alone. */
async function countPackage(bytes: Buffer, nesting: number): Promise<TagCounts> {
  let total = NOTHING;
  for (const part of partsOf(bytes)) {
    if (left <= 0) break;
    if (part.kind === 'text') total = sum(total, await countText(part.read(), markupCounter()));
    else if (nesting < MOST_NESTING) total = sum(total, await countPackage(await wholeOf(part.read()), nesting + 1));
  }
  return total;
}

/** Bytes of an inserted document; no more of it than is counted. */
async function wholeOf(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const read: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of chunks) {
      read.push(chunk);
      length += chunk.length;
      if (length > left) break;
    }
  } catch {
    // As above.
  }
  left -= length;
  return Buffer.concat(read);
}

const sum = (a: TagCounts, b: TagCounts): TagCounts => ({
  depth: Math.max(a.depth, b.depth),
  cells: a.cells + b.cells,
  chunks: a.chunks + b.chunks,
  bookmarks: a.bookmarks + b.bookmarks,
  paragraphs: a.paragraphs + b.paragraphs,
});

async function main([input = '', format = '']: readonly string[]): Promise<void> {
  const isPackage = ['docx', 'odt', 'pptx', 'odp'].includes(format);
  const tables = format === 'html' ? new TableTags() : undefined;
  const counts = isPackage
    ? await countPackage(readFileSync(input), 0)
    : await countText(createReadStream(input, { highWaterMark: 1 << 18 }), format === 'rtf' ? rtfCounter() : markupCounter(tables));
  process.stdout.write(`${JSON.stringify({ ...counts, ...(tables !== undefined && { unreadTables: tables.areUnread }) })}\n`);
}

await main(process.argv.slice(2));
