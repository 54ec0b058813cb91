/** Counts in markup by the names of its tags, whatever their prefix: WordprocessingML, DrawingML, OpenDocument, HTML. And in RTF by its words. */

import type { TableTags } from './tables.ts';

export interface TagCounts {
  /** Most tables within one another. */
  readonly depth: number;
  readonly cells: number;
  readonly chunks: number;
  readonly bookmarks: number;
  readonly paragraphs: number;
}

export const NOTHING: TagCounts = { depth: 0, cells: 0, chunks: 0, bookmarks: 0, paragraphs: 0 };

export interface TextCounter {
  /** @param text the next piece, cut anywhere */
  add(text: string): void;
  counts(): TagCounts;
}

/** A tag that is longer is cut, characters: only its first attributes are looked at. */
const LONGEST_TAG = 4_096;
/** No sum goes further: repeated rows may be nested. */
const MOST_CELLS = 1e12;

type Part = 'table' | 'row' | 'cell' | 'chunk' | 'bookmark' | 'paragraph';
const PARTS: Readonly<Record<string, Part>> = {
  ...{ tbl: 'table', table: 'table', 'sub-table': 'table' },
  ...{ tr: 'row', 'table-row': 'row' },
  ...{ tc: 'cell', td: 'cell', th: 'cell', 'table-cell': 'cell', 'covered-table-cell': 'cell' },
  altchunk: 'chunk',
  ...{ p: 'paragraph', h: 'paragraph' },
  ...{ bookmarkstart: 'bookmark', bookmark: 'bookmark', 'bookmark-start': 'bookmark' },
};
/** Opening or closing tag, with what stands in it up to the first `>`: no quoted value of these elements has one. */
const TAG = /<(\/?)(?:[A-Za-z_][\w.-]{0,63}:)?([A-Za-z][\w.-]{0,63})(?![\w.-])([^<>]*)>/g;
const REPEATED = /-repeated\s{0,9}=\s{0,9}["'](\d{1,18})/;

/** @param tables gets each tag, its name in lower case, and the text before it */
export function markupCounter(tables?: TableTags): TextCounter {
  let rest = '';
  let depth = 0;
  let [deepest, cells, chunks, bookmarks, paragraphs] = [0, 0, 0, 0, 0];
  /** For each open row: the cells before it, and how often it is repeated. */
  const rows: { readonly before: number; readonly times: number }[] = [];

  const open = (part: Part, attributes: string): void => {
    const times = Number(REPEATED.exec(attributes)?.[1] ?? 1);
    const isEmpty = attributes.endsWith('/');
    if (part === 'table' && !isEmpty) deepest = Math.max(deepest, ++depth);
    // Rows of HTML need no closing tags: no more are kept than tables are open.
    else if (part === 'row' && !isEmpty && rows.length < depth) rows.push({ before: cells, times });
    else if (part === 'cell') cells = Math.min(cells + times, MOST_CELLS);
    else if (part === 'chunk') chunks++;
    else if (part === 'bookmark') bookmarks++;
    else if (part === 'paragraph') paragraphs++;
  };
  const close = (part: Part): void => {
    if (part === 'table') {
      depth = Math.max(0, depth - 1);
      rows.length = Math.min(rows.length, depth);
    } else if (part === 'row') {
      const row = rows.pop();
      if (row !== undefined) cells = Math.min(row.before + (cells - row.before) * row.times, MOST_CELLS);
    }
  };

  return {
    add(text) {
      const all = rest + text;
      let end = 0;
      for (const { 0: whole, 1: closing, 2: found = '', 3: attributes = '', index } of all.matchAll(TAG)) {
        const name = found.toLowerCase();
        const part = PARTS[name];
        if (part !== undefined) (closing === '/' ? close : open)(part, attributes);
        tables?.text(all.slice(end, index));
        tables?.tag(name, closing === '/', attributes);
        end = index + whole.length;
      }
      const last = all.lastIndexOf('<');
      // One that is closed was counted.
      const isWhole = last < 0 || all.indexOf('>', last) >= 0;
      tables?.text(all.slice(end, isWhole ? all.length : last));
      rest = isWhole ? '' : all.slice(last, last + LONGEST_TAG);
    },
    counts: () => ({ depth: deepest, cells, chunks, bookmarks, paragraphs }),
  };
}

/** Control words of Rich Text Format 1.9.1: `\itap` is the depth of a paragraph's table. */
const WORD = /\\(itap|cell|nestcell|bkmkstart)(\d{0,9})(?![a-z])/g;
const LONGEST_WORD = 20;

export function rtfCounter(): TextCounter {
  let rest = '';
  let [depth, cells, bookmarks] = [0, 0, 0];
  return {
    add(text) {
      const all = rest + text;
      // A word at the end may go on in the next piece.
      const last = all.lastIndexOf('\\');
      const cut = last < 0 || all.length - last > LONGEST_WORD ? all.length : last;
      for (const [, word, number = ''] of all.slice(0, cut).matchAll(WORD)) {
        if (word === 'itap') depth = Math.max(depth, Number(number));
        else if (word === 'bkmkstart') bookmarks++;
        else cells++;
      }
      rest = all.slice(cut);
    },
    counts: () => ({ depth, cells, chunks: 0, bookmarks, paragraphs: 0 }),
  };
}
