/**
 * A plain text as a page: its paragraphs, with its lines and blanks as they are.
 *
 *   text-page.ts INPUT OUTPUT    INPUT: UTF-8
 *
 * It reads piece by piece, and takes time by the bytes, however short the lines are.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { writePieces } from '../process/pieces.ts';
import { escaped } from '../text/html.ts';
import { QUIET_FOOT, quietHead } from '../text/quiet-page.ts';

const VERSION = '1.0';
const CHUNK = 1 << 20;
const STYLES = 'p { white-space: pre-wrap; overflow-wrap: anywhere; margin: 1em 0 }';

const [input = '', output = ''] = process.argv.slice(2);

if (input === '--version') process.stdout.write(`text-page ${VERSION}\n`);
else writePieces(output, pageOf(linesOf(piecesOf(input))));

function* pageOf(lines: Iterable<string>): Generator<string> {
  // Without a title browsers show the file's name, and Pandoc puts none into what it makes of the page.
  yield quietHead('', STYLES);
  let isInParagraph = false;
  for (const line of lines) {
    const isBlank = /^\s*$/.test(line);
    if (isBlank) {
      if (isInParagraph) yield '</p>\n';
      isInParagraph = false;
      continue;
    }
    yield `${isInParagraph ? '<br>' : '<p>'}${escaped(line)}`;
    isInParagraph = true;
  }
  yield `${isInParagraph ? '</p>\n' : ''}${QUIET_FOOT}`;
}

/** Lines end as any system ends them, and pages with their last line. */
function* linesOf(pieces: Iterable<string>): Generator<string> {
  /** The last line so far, whose end may be in a later piece. */
  let open: string[] = [];
  for (const piece of pieces) {
    const [first = '', ...others] = piece.split(/\r\n|[\n\r\f\v\x85\u2028\u2029]/);
    open.push(first);
    for (const line of others) {
      yield visible(open.join(''));
      open = [line];
    }
  }
  yield visible(open.join(''));
}

/** Characters that a page may not hold (HTML, 13.1.4 Text). */
function visible(line: string): string {
  return line.replace(/[\0-\x08\x0e-\x1f\x7f-\x9f]/g, '\ufffd');
}

/** No piece ends between the two characters of one line's end. */
function* piecesOf(path: string): Generator<string> {
  const file = openSync(path, 'r');
  const decoder = new StringDecoder('utf8');
  const buffer = Buffer.allocUnsafe(CHUNK);
  let [kept, isFirst] = ['', true];
  for (let size = readSync(file, buffer); size > 0; size = readSync(file, buffer)) {
    const read = kept + decoder.write(buffer.subarray(0, size));
    kept = read.endsWith('\r') ? '\r' : '';
    const piece = read.slice(0, read.length - kept.length);
    yield isFirst ? piece.replace(/^\ufeff/, '') : piece;
    isFirst = false;
  }
  yield kept + decoder.end();
  closeSync(file);
}
