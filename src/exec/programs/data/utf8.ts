/**
 * Writes a text of any encoding as UTF-8. What it declares of its encoding then says UTF-8 too. A compressed drawing or book is unpacked before.
 *
 *   utf8.ts INPUT OUTPUT FORMAT [CHARSET]    CHARSET counts more than what the text declares
 *
 * Prints one line of JSON, as residents answer, with a warning where the encoding was guessed.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { unpackedEntry, zipEntries } from '../archives/zip.ts';
import { answering } from '../process/answer.ts';
import { type Declares, declaringUtf8, decodeText, toldOf } from '../text/charset.ts';
import { beyond, FileRefused } from './values/value.ts';

/** Bytes of a text that is unpacked. */
const MOST_BYTES = 64 << 20;
const GZIP = Buffer.of(0x1f, 0x8b);

const [input = '', output = '', format = '', charset] = process.argv.slice(2);
const declares: readonly Declares[] = format === 'html' ? ['xml', 'html'] : ['xml'];

await answering(() => {
  const decoded = decodeText(unpacked(readFileSync(input)), declares, charset);
  writeFileSync(output, declaringUtf8(decoded.text, declares));
  return toldOf(decoded);
});

/** @throws FileRefused */
function unpacked(bytes: Buffer): Buffer {
  if (bytes.toString('latin1', 0, 4) === 'PK\x03\x04') {
    const [only] = zipEntries(bytes);
    if (only === undefined) throw new FileRefused('corrupt_input');
    return unpackedEntry(only, MOST_BYTES);
  }
  if (!bytes.subarray(0, 2).equals(GZIP)) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: MOST_BYTES });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
      ? beyond('unpacked bytes', MOST_BYTES)
      : new FileRefused('corrupt_input');
  }
}
