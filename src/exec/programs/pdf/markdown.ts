/**
 * A text as Markdown (GitHub's, with tables), from a list of its words and their places.
 *
 *   markdown.ts WORDS.tsv OUTPUT.md
 *
 * Larger lines are headings, what begins with a bullet or a number is a list, and what stands in columns is a table. Prints an answer as residents give.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { answering } from '../process/answer.ts';
import { joined, layoutOf, type PagePart } from './layout/parts.ts';
import { linesIn } from './layout/words.ts';

const VERSION = '1.0';

const [input = '', output = ''] = process.argv.slice(2);

if (input === '--version') process.stdout.write(`markdown ${VERSION}\n`);
else
  await answering(() => {
    writeFileSync(output, written(layoutOf(linesIn(readFileSync(input, 'utf8')))));
    return [];
  });

function written(parts: readonly PagePart[]): string {
  const pieces: string[] = [];
  /** Columns that the text of an item in each open list begins at. */
  let indents: readonly number[] = [];
  for (const [at, part] of parts.entries()) {
    if (at > 0) pieces.push(isOneList(parts[at - 1], part) ? '\n' : '\n\n');
    if (part.kind !== 'item') indents = [];
    switch (part.kind) {
      case 'heading':
        pieces.push(`${'#'.repeat(part.level)} ${escaped(joined(part.lines))}`);
        break;
      case 'paragraph':
        pieces.push(beginningEscaped(escaped(joined(part.lines))));
        break;
      case 'item': {
        const mark = part.number === undefined ? '-' : `${part.number}.`;
        const indent = part.depth === 0 ? 0 : (indents[part.depth - 1] ?? 0);
        indents = [...indents.slice(0, part.depth), indent + mark.length + 1];
        pieces.push(`${' '.repeat(indent)}${mark} ${beginningEscaped(escaped(joined(part.lines)))}`);
        break;
      }
      case 'table':
        pieces.push(
          part.table.rows.map((row, place) => `${line(row)}${place === 0 ? `\n|${' --- |'.repeat(row.length)}` : ''}`).join('\n'),
        );
        break;
    }
  }
  return pieces.length === 0 ? '' : `${pieces.join('')}\n`;
}

/** A list in another stays with it; one of numbers is not one of bullets. */
function isOneList(before: PagePart | undefined, part: PagePart): boolean {
  if (before?.kind !== 'item' || part.kind !== 'item') return false;
  return part.depth > before.depth || (before.number === undefined) === (part.number === undefined);
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => escaped(cell).replaceAll('|', '\\|')).join(' | ')} |`;
}

/** What would be markup (CommonMark 0.31, 2.4). */
function escaped(text: string): string {
  return text.replace(/[\\`*_[\]<~]|&(?=#?\w{1,40};)/g, '\\$&');
}

function beginningEscaped(text: string): string {
  return text.replace(/^(?:#{1,6}(?=\s|$)|[-+>=])/, '\\$&').replace(/^\d{1,9}(?=[.)](?:\s|$))/, '$&\\');
}
