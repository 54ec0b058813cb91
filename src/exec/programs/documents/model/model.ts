/** A document as blocks in the order in which they are read: what `to_format=json` gives of texts. Its schema is `contracts/api/document-model.ts`. */

/** Points from the upper left corner of a page, 72 to an inch. */
export interface Place {
  /** From 1 on. */
  readonly page: number;
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export interface BlockLink {
  readonly text: string;
  readonly url: string;
}

export interface Cell {
  readonly text: string;
  readonly header?: true;
  readonly row_span?: number;
  readonly column_span?: number;
}

interface Common {
  /** Where it stands, a box for each page or column; markup has no pages. */
  readonly boxes?: readonly Place[];
  /** The file says what it is (`markup`), its place and size do (`layout`), or a picture of it was read (`ocr`). */
  readonly origin: 'markup' | 'layout' | 'ocr';
  /** How sure the recognition of its letters is, 0 to 1; only of `ocr`. */
  readonly confidence?: number;
  readonly links?: readonly BlockLink[];
}

export type Block = Common &
  (
    | { readonly type: 'heading'; readonly level: number; readonly text: string }
    | { readonly type: 'paragraph'; readonly text: string; readonly style?: 'quote' | 'term' | 'definition' }
    /** In order; a level below 1 stands inside the item before it. */
    | { readonly type: 'list'; readonly items: readonly ListItem[] }
    | { readonly type: 'table'; readonly caption?: string; readonly rows: readonly (readonly Cell[])[] }
    | { readonly type: 'figure'; readonly caption: string }
    | { readonly type: 'formula'; readonly latex: string }
    | { readonly type: 'code'; readonly text: string; readonly language?: string }
    | { readonly type: 'footnote'; readonly label: string; readonly text: string }
    /** What stands at the edge of several pages, once for each; no chunk has it. */
    | { readonly type: 'header' | 'footer'; readonly text: string }
  );

export interface ListItem {
  /** From 1 on. */
  readonly level: number;
  readonly number?: number;
  readonly text: string;
}

export interface PageOf {
  readonly number: number;
  readonly width: number;
  readonly height: number;
}

export interface DocumentBlocks {
  readonly version: 1;
  readonly source: string;
  readonly title?: string;
  readonly author?: string;
  /** BCP 47 */
  readonly language?: string;
  /** In points. */
  readonly pages?: readonly PageOf[];
  readonly blocks: readonly Block[];
  readonly chunks?: readonly Chunk[];
}

/** A piece of the text for retrieval. */
export interface Chunk {
  readonly text: string;
  /** By estimate: a quarter of the letters of a word, and each sign of Chinese, Japanese and Korean. */
  readonly tokens: number;
  /** The headings above it, the highest first. */
  readonly headings: readonly string[];
  /** Places in `blocks` of the first and the last one that it has a part of. */
  readonly first_block: number;
  readonly last_block: number;
  readonly boxes?: readonly Place[];
}

/** @returns a block as text: items by lines, tables as Markdown has them */
export function blockText(block: Block): string {
  switch (block.type) {
    case 'list':
      return block.items
        .map(({ level, number, text }) => `${'  '.repeat(level - 1)}${number === undefined ? '-' : `${number}.`} ${text}`)
        .join('\n');
    case 'table': {
      const rows = block.rows.map(
        (cells) => `| ${cells.map(({ text }) => text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|')).join(' | ')} |`,
      );
      return [...(block.caption === undefined ? [] : [block.caption]), ...rows].join('\n');
    }
    case 'figure':
      return block.caption;
    case 'formula':
      return block.latex;
    case 'footnote':
      return `[${block.label}] ${block.text}`;
    default:
      return block.text;
  }
}
