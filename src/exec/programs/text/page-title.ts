/** The title of a page in HTML that has none: its first heading, or the first words of its text. */
import { escaped } from './html.ts';

/** Characters. */
const LONGEST = 100;
const NOTHING_TO_SAY = 'Untitled';

const TITLE = /<title>([^<]*)<\/title>/i;
const HEADING = /<h[1-6][\s>]/i;

/**
 * @param page its beginning at least
 * @param isTitle whether what stands there as its title is one
 */
export function withTitle(page: string, isTitle: (found: string) => boolean): string {
  const found = TITLE.exec(page);
  if (found === null || isTitle((found[1] ?? '').trim())) return page;
  const behind = found.index + found[0].length;
  return `${page.slice(0, found.index)}<title>${titleFrom(page.slice(behind))}</title>${page.slice(behind)}`;
}

/** @returns as HTML */
function titleFrom(rest: string): string {
  const start = rest.search(/<body[\s>]/i);
  const body = start < 0 ? rest : rest.slice(start);
  const heading = body.search(HEADING);
  const words = (heading < 0 ? '' : firstWords(body.slice(heading), true)) || firstWords(body, false);
  return words === '' ? escaped(NOTHING_TO_SAY) : words;
}

/** @param isOne whether they end where the first element does */
function firstWords(html: string, isOne: boolean): string {
  let [words, isSilent] = ['', false];
  for (const piece of html.split(/(?=<)/)) {
    const tag = /^<(\/?)([a-z][a-z0-9]*)/i.exec(piece);
    const name = tag?.[2]?.toLowerCase() ?? '';
    if (/^(?:style|script)$/.test(name)) isSilent = tag?.[1] === '';
    const isBlock = /^(?:p|div|h[1-6]|li|td|th|tr|table|pre|blockquote|section|header|nav|ul|ol|figure)$/.test(name);
    if (isBlock && words.trim() !== '') break;
    if (name === 'br') words += ' ';
    const end = piece.indexOf('>');
    if (!isSilent && !(piece.startsWith('<') && end < 0)) words += piece.startsWith('<') ? piece.slice(end + 1) : piece;
    if (words.length > 4 * LONGEST || (isOne && /^<\/h[1-6]>/i.test(piece))) break;
  }
  return cut(words.replace(/&(?:#160|nbsp);|\s+/g, ' ').trim());
}

/** Whole words, and no part of a reference to a character. */
function cut(text: string): string {
  if (text.length <= LONGEST) return text.replace(/<|>/g, '');
  const short = text.slice(0, LONGEST);
  const end = short.lastIndexOf(' ');
  return `${(end > 0 ? short.slice(0, end) : short.replace(/&[^;]{0,12}$/, '')).replace(/<|>/g, '')}…`;
}
