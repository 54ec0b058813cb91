/** Texts: plain, in Markdown, and tables of separated values. */
import { cellWords, distinctWords } from '../words.ts';
import type { OfficeFacts } from './facts.ts';

export const textFacts = (text: string): OfficeFacts => ({ document: { words: distinctWords(text) } });

/** CommonMark 0.31, 4.2 to 4.7 and 6.3 to 6.5, and the notes of Pandoc. A longer address is none, and a picture in another file is not in this one. */
const [HEADING, UNDERLINE, FENCE] = [/^ {0,3}#{1,6}(?:\s|$)/, /^ {0,3}(?:=+|-+)\s*$/, /^ {0,3}(?:```|~~~)/];
const LINK = /(?:\]\(|<|\]:\s?|href=")((?:https?|mailto|ftp|tel):[^\s)>"]{1,2000})|<([^\s<>@:]{1,64}@[^\s<>@:]{1,255})>/gi;
const PICTURE = '](data:image/';
const NOTE = '[^';

export function markdownFacts(text: string): OfficeFacts {
  let [headings, footnotes, pictures, isCode] = [0, 0, 0, false];
  const links = new Set<string>();
  let before = '';
  const lines = text.split('\n');
  for (const raw of lines.slice(frontMatter(lines))) {
    const line = withoutCode(raw);
    // A text may be nothing but line breaks.
    if (line === '') {
      before = '';
      continue;
    }
    if (FENCE.test(line)) isCode = !isCode;
    else if (!isCode) {
      if (HEADING.test(line) || (UNDERLINE.test(line) && /^ {0,3}[\p{L}\p{N}*_[]/u.test(before))) headings++;
      for (const [, address, mail] of line.matchAll(LINK)) links.add(address ?? `mailto:${mail}`);
      pictures += line.split(PICTURE).length - 1;
      // The first of a line may be what it says.
      footnotes += line.split(NOTE).length - (line.startsWith(NOTE) && line.includes(']:') ? 2 : 1);
    }
    before = line;
  }
  const words = distinctWords(text.replaceAll('\\', ''));
  return { document: { words, isMarkup: true, headings, footnotes, pictures, links: links.size } };
}

/** How many lines of fields stand before the text, as Pandoc reads them: none where they have no end. */
function frontMatter(lines: readonly string[]): number {
  if (lines[0]?.trimEnd() !== '---') return 0;
  return lines.slice(0, MOST_FIELDS).findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)\s*$/.test(line)) + 1;
}
const MOST_FIELDS = 1_000;

/** Without spans of code, but with the marks of a fence. */
function withoutCode(line: string): string {
  if (!line.includes('`') || FENCE.test(line)) return line;
  // Every second piece is code; one without an end is none.
  const pieces = line.split(/`{1,9}/);
  return pieces.map((piece, index) => (index % 2 === 1 && index < pieces.length - 1 ? 'x' : piece)).join('');
}

/** Rows and columns of separated values (RFC 4180). @param separator of the format; in CSV, what the first line has most of */
export function separatedFacts(text: string, separator = likelySeparator(text)): OfficeFacts {
  let [row, column, rows, columns, isQuoted] = [1, 1, 0, 0, false];
  for (const letter of text) {
    if (letter === '"') isQuoted = !isQuoted;
    if (!isQuoted && letter === separator) column++;
    else if (!isQuoted && letter === '\n') [row, column] = [row + 1, 1];
    else if (letter !== '\r') [rows, columns] = [row, Math.max(columns, column)];
  }
  return { document: { isCells: true, words: cellWords(text) }, table: { sheets: 1, hiddenSheets: 0, rows, columns } };
}

function likelySeparator(text: string): string {
  const [line = ''] = text.slice(0, 10_000).split('\n', 1);
  const count = (letter: string) => line.split(letter).length;
  return [',', ';', '\t', '|'].reduce((best, letter) => (count(letter) > count(best) ? letter : best));
}
