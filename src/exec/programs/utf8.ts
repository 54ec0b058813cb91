/**
 * Writes a text of any encoding as UTF-8. What it declares of its encoding then says UTF-8 too.
 *
 *   utf8.ts INPUT OUTPUT FORMAT [CHARSET]    CHARSET counts more than what the text declares
 *
 * Prints one line of JSON, as residents answer, with a warning where the encoding was guessed.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { answering } from './values/answer.ts';
import { type Declares, declaringUtf8, decodeText, toldOf } from './values/charset.ts';

const [input = '', output = '', format = '', charset] = process.argv.slice(2);
const declares: readonly Declares[] = format === 'html' ? ['xml', 'html'] : ['xml'];

await answering(() => {
  const decoded = decodeText(readFileSync(input), declares, charset);
  writeFileSync(output, declaringUtf8(decoded.text, declares));
  return toldOf(decoded);
});
