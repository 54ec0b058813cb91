/**
 * Whether Pandoc 2.17 reads the tables of a page. It makes paragraphs of one whose rows or cells leave out their end tags, which HTML allows (13.1.2.4), and
 * of one that has anything else between them; and it leaves out what stands beyond the columns that it counts.
 */
import { TableColumns } from '../html/columns.ts';

/** Tables within one another, with their rows and cells. More are refused before Pandoc reads them. */
const MOST_OPEN = 1_000;
/** In which order Pandoc reads the parts of a table: its foot at the end, or before the rows. */
const PLACES: Readonly<Record<string, number>> = { caption: 0, colgroup: 1, col: 1, thead: 2, tbody: 3, tfoot: 4 };
const [HEAD, BODY] = [2, 3];
/** Which element each is in. */
const INSIDE: Readonly<Record<string, string>> = { caption: 'table', tr: 'table', td: 'tr', th: 'tr' };
const SPAN = /\b(col|row)span\s{0,9}=\s{0,9}["']?(\d{1,6})/gi;

interface OpenTable {
  readonly columns: TableColumns;
  /** How many `col` elements. */
  declared: number;
  place: number;
  /** Whether a head, body or foot is open: each may leave out its end tag. */
  isInSection: boolean;
}

export class TableTags {
  /** Elements of tables, by their names in lower case. */
  readonly #open: string[] = [];
  readonly #tables: OpenTable[] = [];
  #isUnread = false;

  /** Whether some table of what was added is not read. */
  get areUnread(): boolean {
    return this.#isUnread || this.#open.length > 0;
  }

  /** @param text between two tags */
  text(text: string): void {
    if (this.#isBetween() && text.trim() !== '' && !text.includes('<!')) this.#isUnread = true;
  }

  /** @param name in lower case @param attributes all that stands behind it */
  tag(name: string, isClosing: boolean, attributes: string): void {
    if (this.#isUnread) return;
    if (isClosing) this.#close(name);
    else if (name === 'table') this.#openTable(attributes);
    else if (name in PLACES || name in INSIDE) this.#openPart(name, attributes);
    else if (this.#isBetween()) this.#isUnread = true;
  }

  /** Not in a cell or a caption. */
  #isBetween(): boolean {
    const top = this.#open.at(-1);
    return top === 'table' || top === 'tr';
  }

  #openTable(attributes: string): void {
    if (this.#isBetween() || this.#open.length > MOST_OPEN) this.#isUnread = true;
    if (attributes.endsWith('/')) return;
    this.#open.push('table');
    this.#tables.push({ columns: new TableColumns(), declared: 0, place: 0, isInSection: false });
  }

  #openPart(name: string, attributes: string): void {
    const table = this.#tables.at(-1);
    // Outside of all tables they mean nothing.
    if (table === undefined) return;
    if (this.#open.at(-1) !== (INSIDE[name] ?? 'table')) this.#isUnread = true;
    this.#place(table, name);
    const spans = new Map([...attributes.matchAll(SPAN)].map(([, which = '', number]) => [which.toLowerCase(), Number(number)]));
    const { columns } = table;
    // Pandoc does not read their spans.
    if (name === 'col') table.declared++;
    else if (name === 'tr') columns.row();
    else if (name === 'td' || name === 'th') columns.cell(spans.get('col') ?? Number.NaN, spans.get('row') ?? Number.NaN);
    if (spans.get('col') === 0) this.#isUnread = true;
    if (name in INSIDE && !attributes.endsWith('/')) this.#open.push(name);
  }

  #place(table: OpenTable, name: string): void {
    const found = name === 'tr' && !table.isInSection ? BODY : PLACES[name];
    if (found === undefined) return;
    const place = name === 'tfoot' && table.place < BODY ? BODY : found;
    if (place < table.place || (place === HEAD && table.place === HEAD)) this.#isUnread = true;
    if (place >= HEAD && (name !== 'tr' || table.place < place)) table.columns.section();
    table.place = place;
    table.isInSection ||= place >= HEAD && name !== 'tr';
  }

  #close(name: string): void {
    const table = this.#tables.at(-1);
    if (name !== 'table' && !(name in INSIDE)) {
      if (this.#isBetween() && !(name in PLACES)) this.#isUnread = true;
      if (table !== undefined && (PLACES[name] ?? 0) >= HEAD) table.isInSection = false;
      return;
    }
    if (table === undefined) return;
    if (this.#open.pop() !== name) this.#isUnread = true;
    if (name !== 'table') return;
    this.#tables.pop();
    const { columns, declared } = table;
    if (columns.widest > columns.ownMost || (declared > 0 && columns.widest > declared)) this.#isUnread = true;
  }
}
