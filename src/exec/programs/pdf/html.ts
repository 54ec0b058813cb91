/**
 * Completes the page that pdftohtml makes of a PDF: what is read from right to left is in the order in which it is read, and not in the order in which
 * it is seen; and a document without a title has its first words as one, where pdftohtml writes the path of its output.
 *
 *   html.ts FOUND.html OUTPUT.html
 *
 * Prints an answer as residents give.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { answering } from '../process/answer.ts';
import { withTitle } from '../text/page-title.ts';
import { hasRightToLeft, inReadingOrder, isRightToLeft } from '../text/right-to-left.ts';

/** Characters from the beginning in which words for the title are looked for. */
const LOOKED_AT = 1 << 18;
/** Pixels: what lies no further apart stands on one line. */
const SAME_LINE = 3;

const [found = '', output = ''] = process.argv.slice(2);

async function* titled(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let [head, isOver] = ['', false];
  const complete = () => withTitle(head, (title) => title !== '' && title !== found.replace(/\.html$/, ''));
  for await (const piece of pieces) {
    if (isOver) yield piece;
    else head += piece;
    if (isOver || head.length < LOOKED_AT) continue;
    yield complete();
    isOver = true;
  }
  if (!isOver) yield complete();
}

interface Placed {
  readonly top: number;
  readonly left: number;
  /** The paragraph as it is written. */
  readonly html: string;
}

/** The paragraphs of each line are sorted, where it is read from right to left. */
async function* inOrder(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let row: Placed[] = [];
  for await (const line of lines) {
    const placed = paragraphIn(line);
    if (placed !== undefined && Math.abs(placed.top - (row[0]?.top ?? placed.top)) <= SAME_LINE) {
      row.push(placed);
      continue;
    }
    yield* written(row);
    row = placed === undefined ? [] : [placed];
    if (placed === undefined) yield `${line}\n`;
  }
  yield* written(row);
}

function* written(row: readonly Placed[]): Generator<string> {
  const isRight = isRightToLeft(row.map(({ html }) => textOf(html)).join(' '));
  for (const { html } of isRight ? row.toSorted((one, other) => other.left - one.left) : row) yield `${html}\n`;
}

const PARAGRAPH = /^<p style="position:absolute;top:(-?\d{1,6})px;left:(-?\d{1,6})px;/;

function paragraphIn(line: string): Placed | undefined {
  const [start, top, left] = PARAGRAPH.exec(line) ?? [];
  if (start === undefined || !line.endsWith('</p>')) return undefined;
  const open = line.indexOf('>') + 1;
  const inside = line.slice(open, -'</p>'.length);
  const place = { top: Number(top), left: Number(left) };
  if (!hasRightToLeft(inside)) return { ...place, html: line };
  const isRight = isRightToLeft(textOf(inside));
  const read = inside.split('<br/>').map((each) => nodesRead(piecesOf(each), isRight));
  return { ...place, html: `<p${isRight ? ' dir="rtl"' : ''}${line.slice('<p'.length, open)}${read.join('<br/>')}</p>` };
}

/** Tags, and the text between them. */
const piecesOf = (html: string): readonly string[] => html.split(/(<[^<>]*>)/).filter((piece) => piece !== '');
const textOf = (html: string): string => html.replace(/<[^<>]*>|&[#\w]{1,10};/g, ' ');

/** @param pieces of one line: where that is read from right to left, what is marked up comes in the order of the line, too */
function nodesRead(pieces: readonly string[], isRight: boolean): string {
  const nodes: string[] = [];
  for (let at = 0; at < pieces.length; at++) {
    const piece = pieces[at] ?? '';
    const name = /^<([a-z]+)/.exec(piece)?.[1];
    const end = name === undefined ? -1 : pieces.indexOf(`</${name}>`, at);
    if (end < 0) nodes.push(piece.startsWith('<') ? piece : encoded(inReadingOrder(decoded(piece), isRight)));
    else {
      nodes.push(`${piece}${nodesRead(pieces.slice(at + 1, end), isRight)}</${name}>`);
      at = end;
    }
  }
  return (isRight ? nodes.reverse() : nodes).join('');
}

/** The references that pdftohtml writes. */
const REFERENCES: Readonly<Record<string, string>> = { '&#160;': '\u00a0', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' };
const decoded = (html: string): string => html.replace(/&(?:#160|lt|gt|quot|amp);/g, (reference) => REFERENCES[reference] ?? reference);
const CHARACTERS: Readonly<Record<string, string>> = Object.fromEntries(Object.entries(REFERENCES).map(([to, from]) => [from, to]));
const encoded = (text: string): string => text.replace(/[\u00a0<>"&]/g, (character) => CHARACTERS[character] ?? character);

await answering(async () => {
  await pipeline(Readable.from(titled(inOrder(createInterface({ input: createReadStream(found) })))), createWriteStream(output));
  return [];
});
