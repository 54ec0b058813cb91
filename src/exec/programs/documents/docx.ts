/**
 * Writes a DOCX so that Pandoc reads all of it: text boxes become paragraphs after the one that they hang on, a table without a grid gets one, and
 * hidden text is left out, as in print.
 *
 *   docx.ts INPUT OUTPUT
 *
 * Prints an answer as residents give: warnings about what the document has and Pandoc does not read.
 */
import { copyFileSync, readFileSync } from 'node:fs';
import { unpackedEntry, type ZipEntry, zipEntries, zipOf } from '../archives/zip.ts';
import { answering, lossy } from '../process/answer.ts';
import { writePieces } from '../process/pieces.ts';
import { preparedStory } from './docx/story.ts';

/** Bytes of all parts together, unpacked, and of one that is rewritten. */
const [MOST_BYTES, MOST_STORY] = [512 << 20, 96 << 20];
const STORY = /^word\/(?:document|footnotes|endnotes)\d{0,4}\.xml$/;
const COMMENTS = 'word/comments.xml';

const [input = '', output = ''] = process.argv.slice(2);

await answering(() => {
  const entries = [...zipEntries(readFileSync(input))];
  const left: string[] = [];
  const changed = new Map<string, Buffer>();
  let [hidden, charts] = [0, 0];
  for (const entry of entries.filter(({ name }) => STORY.test(name))) {
    const xml = unpackedEntry(entry, MOST_STORY).toString();
    const story = preparedStory(xml);
    hidden += story.hidden;
    charts += story.charts;
    if (story.xml !== xml) changed.set(entry.name, Buffer.from(story.xml));
  }
  const comments = entries.find(({ name }) => name === COMMENTS);
  const count = comments === undefined ? 0 : unpackedEntry(comments, MOST_STORY).toString().split('<w:comment ').length - 1;
  if (count > 0) left.push(`Comments of the document are left out: ${count}.`);
  if (charts > 0) left.push(`Charts of the document are left out: ${charts}.`);
  if (changed.size === 0) copyFileSync(input, output);
  else writePieces(output, zipOf(parts(entries, changed)));
  if (hidden > 0) left.push('Text that the document hides is left out, as in print.');
  return lossy(left);
});

function* parts(
  entries: readonly ZipEntry[],
  changed: ReadonlyMap<string, Buffer>,
): Generator<{ readonly name: string; readonly bytes: Buffer }> {
  let left = MOST_BYTES;
  for (const entry of entries) {
    const bytes = changed.get(entry.name) ?? unpackedEntry(entry, left);
    left -= bytes.length;
    yield { name: entry.name, bytes };
  }
}
