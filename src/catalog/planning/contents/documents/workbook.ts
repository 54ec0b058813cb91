/** A workbook in SpreadsheetML (ECMA-376 part 1, 18). */
import type { Package } from '../package.ts';
import { attributeIn, type Tag, walkTags, withoutEntities } from '../tags.ts';
import { cellWords } from '../words.ts';
import { isRaster, type OfficeFacts, type TableFacts } from './facts.ts';
import { countTags, outsideLinks, relationsOf, titleOf } from './ooxml.ts';

/** As many as are converted. */
const MOST_SHEETS = 500;

export function workbookFacts(file: Package): OfficeFacts {
  const main = 'xl/workbook.xml';
  const targets = new Map(relationsOf(file, main).map(({ id, target }) => [id, target]));
  const { sheets, hidden } = sheetsIn(file.text(main));
  const [strings, dateStyles] = [stringsIn(file.text('xl/sharedStrings.xml')), dateStylesIn(file.text('xl/styles.xml'))];
  const total = { rows: 0, columns: 0, numbers: 0, dates: 0, truths: 0, formulas: 0, mergedCells: 0, cellNotes: 0 };
  const texts: string[] = [];
  const [pictures, links] = [new Set<string>(), new Set<string>()];
  for (const id of sheets.slice(0, MOST_SHEETS)) {
    const part = targets.get(id) ?? '';
    const sheet = sheetIn(file.text(part), strings, dateStyles);
    if (!hidden.has(id)) total.rows += sheet.rows;
    for (const name of ['numbers', 'dates', 'truths', 'formulas', 'mergedCells'] as const) total[name] += sheet[name];
    total.columns = Math.max(total.columns, sheet.columns);
    if (!hidden.has(id)) texts.push(...sheet.texts);
    const relations = relationsOf(file, part);
    for (const link of outsideLinks(relations)) links.add(link);
    for (const { type, target } of relations) {
      if (type === 'comments') total.cellNotes += countTags(file.text(target), (name) => name === 'comment' || name === 'x:comment');
      if (type !== 'drawing') continue;
      for (const each of relationsOf(file, target)) if (each.type === 'image' && isRaster(each.target)) pictures.add(each.target);
    }
  }
  const table: TableFacts = { sheets: sheets.length, hiddenSheets: hidden.size, ...total, cellLinks: links.size };
  return {
    table,
    document: { isCells: true, words: cellWords(texts.join(' ')), pictures: pictures.size, links: links.size, title: titleOf(file) },
  };
}

function sheetsIn(xml: string): { readonly sheets: readonly string[]; readonly hidden: ReadonlySet<string> } {
  const [sheets, hidden]: [string[], Set<string>] = [[], new Set()];
  walkTags(
    xml,
    (tag) => {
      if (localName(tag) !== 'sheet' || tag.kind === 'close') return;
      const id = attributeIn(tag, 'r:id') ?? '';
      sheets.push(id);
      if ((attributeIn(tag, 'state') ?? 'visible') !== 'visible') hidden.add(id);
    },
    () => {},
  );
  return { sheets, hidden };
}

const localName = ({ name }: Tag): string => (name.includes(':') ? (name.split(':').at(-1) ?? '') : name);

/** Shared texts, without their readings. (18.4.6, 18.4.8) */
function stringsIn(xml: string): readonly string[] {
  const strings: string[] = [];
  let [text, isText, isReading] = ['', false, false];
  walkTags(
    xml,
    (tag) => {
      const name = localName(tag);
      if (name === 'rPh') isReading = tag.kind === 'open';
      isText = name === 't' && tag.kind === 'open' && !isReading;
      if (name !== 'si') return;
      if (tag.kind !== 'open') strings.push(text);
      text = '';
    },
    (piece) => {
      if (isText) text += withoutEntities(piece);
    },
  );
  return strings;
}

/** Numbers of cell styles that show a date or a time. (18.8.30) */
function dateStylesIn(xml: string): ReadonlySet<string> {
  const [formats, styles] = [new Set<string>(), new Set<string>()];
  let [isCells, index] = [false, 0];
  walkTags(
    xml,
    (tag) => {
      const name = localName(tag);
      if (name === 'cellXfs') isCells = tag.kind === 'open';
      if (tag.kind === 'close') return;
      if (name === 'numFmt' && showsDate(attributeIn(tag, 'formatCode') ?? '')) formats.add(attributeIn(tag, 'numFmtId') ?? '');
      if (name !== 'xf' || !isCells) return;
      const format = attributeIn(tag, 'numFmtId') ?? '0';
      if (formats.has(format) || isBuiltInDate(Number(format))) styles.add(String(index));
      index++;
    },
    () => {},
  );
  return styles;
}
const isBuiltInDate = (id: number): boolean => (id >= 14 && id <= 22) || (id >= 45 && id <= 47);
/** Letters of days and hours outside of texts, colours and locales. */
function showsDate(code: string): boolean {
  let [isText, isBracket] = [false, false];
  for (let at = 0; at < Math.min(code.length, 255); at++) {
    const letter = code[at] ?? '';
    // The next is shown, or leaves its width, or fills the cell.
    if ('\\_*'.includes(letter)) at++;
    else if (letter === '"') isText = !isText;
    else if (letter === '[' || letter === ']') isBracket = letter === '[';
    else if (!isText && !isBracket && 'dmyhs'.includes(letter.toLowerCase())) return true;
  }
  return false;
}

function sheetIn(xml: string, strings: readonly string[], dateStyles: ReadonlySet<string>) {
  const counts = { rows: 0, columns: 0, numbers: 0, dates: 0, truths: 0, formulas: 0, mergedCells: 0 };
  const texts: string[] = [];
  let [row, column, type, style, part] = [0, 0, 'n', '', ''];
  walkTags(
    xml,
    (tag) => {
      const name = localName(tag);
      part = tag.kind === 'open' ? name : '';
      if (tag.kind === 'close') return;
      if (name === 'row') [row, column] = [Number(attributeIn(tag, 'r') ?? row + 1), 0];
      else if (name === 'c') {
        [type, style] = [attributeIn(tag, 't') ?? 'n', attributeIn(tag, 's') ?? '0'];
        column = columnOf(attributeIn(tag, 'r')) ?? column + 1;
      } else if (name === 'f') counts.formulas++;
      else if (name === 'mergeCell') counts.mergedCells++;
    },
    (text) => {
      if (part !== 'v' && part !== 't') return;
      counts.rows = Math.max(counts.rows, row);
      counts.columns = Math.max(counts.columns, column);
      if (part === 't' || type === 'str') texts.push(withoutEntities(text));
      else if (type === 's') texts.push(strings[Number(text)] ?? '');
      else if (type === 'b') counts.truths++;
      else if (type === 'd' || (type === 'n' && dateStyles.has(style))) counts.dates++;
      else if (type === 'n') counts.numbers++;
    },
  );
  return { ...counts, texts };
}

/** `AB12` is column 28. */
function columnOf(cell: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(cell ?? '')?.[0];
  return letters === undefined ? undefined : [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);
}
