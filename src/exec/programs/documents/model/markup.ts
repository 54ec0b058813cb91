/** Blocks of a document that says itself what they are, from Pandoc's tree (pandoc-types 1.22). */
import { beyond } from '../../data/values/value.ts';
import { contentOf, itemAt, type Json, type Tree, typeOf } from '../pandoc-tree/tree.ts';
import type { Block, BlockLink, Cell, ListItem } from './model.ts';
import { tableNodes } from './tree-tables.ts';

/** What is nested deeper is text of what stands around it. */
const DEEPEST_LIST = 16;

/** Levels of the tree, of which a part of a text in another one takes some four: beyond it the stack of this program would end. */
const DEEPEST_TREE = 1_500;

/** @throws FileRefused for a tree that is nested too deep */
export function markupBlocks({ blocks }: Tree): readonly Block[] {
  if (isDeeper(blocks, DEEPEST_TREE)) throw beyond('levels of the text', DEEPEST_TREE / LEVELS_OF_PART);
  const notes: Block[] = [];
  const reader = new MarkupReader(notes);
  reader.readAll(blocks, undefined);
  return [...reader.blocks, ...notes];
}

const LEVELS_OF_PART = 4;

/** The tables alone, wherever they stand (`tree-tables.ts`). @throws FileRefused for a tree that is nested too deep */
export function tableBlocks({ blocks }: Tree): readonly Block[] {
  if (isDeeper(blocks, DEEPEST_TREE)) throw beyond('levels of the text', DEEPEST_TREE / LEVELS_OF_PART);
  return tableNodes(blocks).flatMap((table) => markupBlocks({ blocks: [table] } as Tree));
}

/** Without recursion. */
function isDeeper(tree: Json, most: number): boolean {
  let level: readonly Json[] = [tree];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return true;
    level = level.flatMap((node) => (typeof node === 'object' && node !== null ? (Object.values(node) as Json[]) : []));
  }
  return false;
}

/** @returns the text of a field of the metadata; undefined where there is none */
export function metaText({ meta }: Tree, name: string): string | undefined {
  const value = meta[name] ?? null;
  // Several authors are a list.
  const each = typeOf(value) === 'MetaList' ? listOf(contentOf(value)) : [value];
  const texts = each.map((one) => new Inlines(() => '').read(one).trim());
  return texts.filter((text) => text !== '').join(', ') || undefined;
}

const listOf = (json: Json): readonly Json[] => (Array.isArray(json) ? json : []);

/** Text of inline nodes, and the links in it. */
class Inlines {
  readonly links: BlockLink[] = [];
  readonly #note: (blocks: Json) => string;

  /** @param note takes the blocks of a footnote, and returns what stands for it in the text */
  constructor(note: (blocks: Json) => string) {
    this.#note = note;
  }

  read(node: Json): string {
    if (Array.isArray(node)) return node.map((each) => this.read(each)).join('');
    const content = contentOf(node);
    switch (typeOf(node)) {
      case undefined:
        return '';
      case 'Str':
      case 'MetaString':
        return String(content);
      case 'Space':
      case 'SoftBreak':
        return ' ';
      case 'LineBreak':
        return '\n';
      case 'Code':
        return String(itemAt(content, 1));
      case 'Math':
        return `$${String(itemAt(content, 1))}$`;
      case 'RawInline':
        return '';
      case 'Note':
        return this.#note(content);
      case 'Link': {
        const text = this.read(itemAt(content, 1));
        const url = itemAt(itemAt(content, 2), 0);
        if (typeof url === 'string' && url !== '') this.links.push({ text, url });
        return text;
      }
      case 'Quoted':
        return typeOf(itemAt(content, 0)) === 'SingleQuote' ? `‘${this.read(itemAt(content, 1))}’` : `“${this.read(itemAt(content, 1))}”`;
      case 'Cite':
      case 'Span':
      case 'Image':
        return this.read(itemAt(content, 1));
      default:
        // Emph, Strong and the like, and the lists of metadata.
        return this.read(content);
    }
  }
}

interface InnerText {
  readonly text: string;
  readonly about: Pick<Block, 'origin' | 'links'>;
}

const aboutOf = (links: readonly BlockLink[]): InnerText['about'] => ({ origin: 'markup', ...(links.length > 0 && { links }) });

class MarkupReader {
  readonly blocks: Block[] = [];
  readonly #notes: Block[];

  /** @param notes of the whole document, to which those that are met are added */
  constructor(notes: Block[]) {
    this.#notes = notes;
  }

  readAll(nodes: Json, style: 'quote' | 'term' | 'definition' | undefined): void {
    for (const node of listOf(nodes)) this.#readBlock(node, style);
  }

  #inlines(nodes: Json): InnerText {
    const inlines = new Inlines((note) => this.#footnote(note));
    const text = inlines.read(nodes).trim();
    return { text, about: aboutOf(inlines.links) };
  }

  #footnote(note: Json): string {
    const label = String(this.#notes.length + 1);
    // Its place is taken before those of notes inside it.
    const place = this.#notes.push({ type: 'footnote', label, text: '', origin: 'markup' }) - 1;
    const { text, about } = this.#textIn(note);
    this.#notes[place] = { type: 'footnote', label, text, ...about };
    return `[${label}]`;
  }

  /** All text in blocks, for cells, captions and footnotes. */
  #textIn(nodes: Json): InnerText {
    const inner = new MarkupReader(this.#notes);
    inner.readAll(nodes, undefined);
    return { text: inner.#plain(), about: aboutOf(inner.blocks.flatMap(({ links = [] }) => links)) };
  }

  /** All that it has read, without the marks of lists and tables. */
  #plain(): string {
    return this.blocks
      .map((block) => {
        if (block.type === 'list') return block.items.map(({ text }) => text).join('\n');
        if (block.type === 'table') return block.rows.map((cells) => cells.map(({ text }) => text).join(' ')).join('\n');
        if (block.type === 'figure') return block.caption;
        return block.type === 'formula' ? `$${block.latex}$` : block.text;
      })
      .join('\n')
      .trim();
  }

  #readBlock(node: Json, style: 'quote' | 'term' | 'definition' | undefined): void {
    const content = contentOf(node);
    switch (typeOf(node)) {
      case 'Header': {
        const { text, about } = this.#inlines(itemAt(content, 2));
        if (text !== '') this.blocks.push({ type: 'heading', level: Math.min(6, Math.max(1, Number(itemAt(content, 0)))), text, ...about });
        return;
      }
      case 'Para':
      case 'Plain':
        this.#readParagraph(content, style);
        return;
      case 'LineBlock':
        this.#readParagraph(
          listOf(content).flatMap((line) => [...listOf(line), { t: 'LineBreak' }]),
          style,
        );
        return;
      case 'CodeBlock': {
        const language = itemAt(itemAt(itemAt(content, 0), 1), 0);
        this.blocks.push({
          ...{ type: 'code', text: String(itemAt(content, 1)), origin: 'markup' },
          ...(typeof language === 'string' && language !== '' && { language }),
        });
        return;
      }
      case 'BlockQuote':
        this.readAll(content, 'quote');
        return;
      case 'BulletList':
      case 'OrderedList':
        this.#readList(node);
        return;
      case 'DefinitionList':
        for (const entry of listOf(content)) {
          this.#readParagraph(itemAt(entry, 0), 'term');
          for (const blocks of listOf(itemAt(entry, 1))) this.readAll(blocks, 'definition');
        }
        return;
      case 'Table':
        this.#readTable(content);
        return;
      case 'Div':
        this.readAll(itemAt(content, 1), style);
        return;
      default:
    }
  }

  #readParagraph(nodes: Json, style: 'quote' | 'term' | 'definition' | undefined): void {
    const shown = listOf(nodes).filter((each) => !['Space', 'SoftBreak', 'LineBreak'].includes(typeOf(each) ?? ''));
    const [only] = shown;
    const { text, about } = this.#inlines(nodes);
    if (shown.length === 1 && only !== undefined && typeOf(only) === 'Image') this.blocks.push({ type: 'figure', caption: text, ...about });
    else if (shown.length === 1 && only !== undefined && typeOf(only) === 'Math')
      this.blocks.push({ type: 'formula', latex: String(itemAt(contentOf(only), 1)), ...about });
    else if (text !== '') this.blocks.push({ type: 'paragraph', text, ...(style !== undefined && { style }), ...about });
  }

  #readList(node: Json): void {
    const items: ListItem[] = [];
    const links: BlockLink[] = [];
    const inside = (list: Json, level: number): void => {
      const content = contentOf(list);
      const isOrdered = typeOf(list) === 'OrderedList';
      const first = isOrdered ? Number(itemAt(itemAt(content, 0), 0)) : 0;
      for (const [at, blocks] of listOf(isOrdered ? itemAt(content, 1) : content).entries()) {
        const isList = (each: Json): boolean => level < DEEPEST_LIST && ['BulletList', 'OrderedList'].includes(typeOf(each) ?? '');
        const inner = new MarkupReader(this.#notes);
        inner.readAll(listOf(blocks).filter((each) => !isList(each)) as Json, undefined);
        links.push(...inner.blocks.flatMap((block) => block.links ?? []));
        items.push({ level, ...(isOrdered && { number: first + at }), text: inner.#plain() });
        for (const each of listOf(blocks).filter(isList)) inside(each, level + 1);
      }
    };
    inside(node, 1);
    this.blocks.push({ type: 'list', items, ...aboutOf(links) });
  }

  /** `[attributes, caption, columns, head, bodies, foot]` */
  #readTable(content: Json): void {
    const caption = this.#textIn(itemAt(itemAt(content, 1), 1));
    const links = [...(caption.about.links ?? [])];
    const rowsOf = (rows: Json, isHeader: boolean): readonly (readonly Cell[])[] =>
      listOf(rows).map((row) => listOf(itemAt(row, 1)).map((cell) => this.#cellOf(cell, isHeader, links)));
    // The reader of ODT has a head without any text for each table that has none.
    const head = rowsOf(itemAt(itemAt(content, 3), 1), true).filter((row) => row.some(({ text }) => text !== ''));
    const rows = [
      ...head,
      ...listOf(itemAt(content, 4)).flatMap((body) => [...rowsOf(itemAt(body, 2), true), ...rowsOf(itemAt(body, 3), false)]),
      ...rowsOf(itemAt(itemAt(content, 5), 1), false),
    ];
    this.blocks.push({ type: 'table', ...(caption.text !== '' && { caption: caption.text }), rows, ...aboutOf(links) });
  }

  /** `[attributes, alignment, rows, columns, blocks]` @param links those of the table, to which those of the cell are added */
  #cellOf(cell: Json, isHeader: boolean, links: BlockLink[]): Cell {
    const [rows, columns] = [Number(itemAt(cell, 2)), Number(itemAt(cell, 3))];
    const { text, about } = this.#textIn(itemAt(cell, 4));
    links.push(...(about.links ?? []));
    return {
      text,
      ...(isHeader && { header: true as const }),
      ...(rows > 1 && { row_span: rows }),
      ...(columns > 1 && { column_span: columns }),
    };
  }
}
