/**
 * Writes a text of any encoding as UTF-8. What it declares of its encoding then says UTF-8 too.
 *
 *   utf8.ts INPUT OUTPUT FORMAT
 *
 * Prints one line of JSON, as residents answer, with a warning where the encoding was guessed.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { answering } from './values/answer.ts';
import { DECLARATIONS, DECLARED_WITHIN, type Declares, decodeText } from './values/charset.ts';

const [input = '', output = '', format = ''] = process.argv.slice(2);
const declares: readonly Declares[] = format === 'html' ? ['xml', 'html'] : ['xml'];

await answering(() => {
  const { text, guessed } = decodeText(readFileSync(input), declares);
  const start = declares.reduce((said, how) => said.replace(DECLARATIONS[how], '$1UTF-8'), text.slice(0, DECLARED_WITHIN));
  writeFileSync(output, start + text.slice(DECLARED_WITHIN));
  const message = `The text is not UTF-8 and does not name its encoding: it was read as ${guessed}.`;
  return guessed === undefined ? [] : [{ code: 'charset_guessed', message }];
});
