/**
 * Gives a page in HTML a title that has none.
 *
 *   title.ts FOUND.html OUTPUT.html [SOURCE]
 *
 * A page that is called as the file that it was made of, SOURCE, has none. Prints an answer as residents give.
 */
import { closeSync, createReadStream, createWriteStream, openSync, readSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { answering } from '../process/answer.ts';
import { withTitle } from '../text/page-title.ts';

/** Bytes from the beginning in which a heading is looked for. */
const LOOKED_AT = 1 << 18;
const [found = '', output = '', source = ''] = process.argv.slice(2);
const name = basename(source, extname(source));

await answering(async () => {
  const [head, length] = beginningOf(found);
  const to = createWriteStream(output);
  to.write(withTitle(head, (title) => title !== '' && title !== name));
  await pipeline(createReadStream(found, { start: length }), to);
  return [];
});

/** @returns whole characters, and how many bytes they are */
function beginningOf(path: string): readonly [string, number] {
  const bytes = Buffer.alloc(LOOKED_AT);
  const file = openSync(path, 'r');
  const read = readSync(file, bytes);
  closeSync(file);
  let length = read;
  while (read === LOOKED_AT && length > 0 && (bytes[length - 1] ?? 0) > 0x7f) length--;
  return [bytes.toString('utf8', 0, length), length];
}
