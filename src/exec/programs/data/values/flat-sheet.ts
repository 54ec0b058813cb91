/**
 * A sheet as flat OpenDocument (OpenDocument 1.3, part 3: 3.1.2, 9.1, 19.387), from which LibreOffice reads cells with their types: a text of digits stays a
 * text, and true stays true. It is only written.
 */
import { isPlain, rowsOf } from './records.ts';
import { leftOut } from './rows.ts';
import type { WrittenText } from './syntax.ts';
import { beyond, type Datum, type Scalar } from './value.ts';

/** What a sheet of LibreOffice and of XLSX has room for. */
const MOST_COLUMNS = 16_384;
const MOST_ROWS = 1_048_576;

const OASIS = 'urn:oasis:names:tc:opendocument:xmlns';
const NAMESPACES = [
  ...['office', 'table', 'text', 'style'].map((name) => `xmlns:${name}="${OASIS}:${name}:1.0"`),
  `xmlns:number="${OASIS}:datastyle:1.0"`,
].join(' ');
/** Without a style of its kind, a cell that is true would be the number 1 in XLSX. */
const STYLES =
  '<number:date-style style:name="y"><number:year number:style="long"/><number:text>-</number:text><number:month number:style="long"/><number:text>-</number:text><number:day number:style="long"/></number:date-style><style:style style:name="day" style:family="table-cell" style:data-style-name="y"/>' +
  '<number:date-style style:name="t"><number:year number:style="long"/><number:text>-</number:text><number:month number:style="long"/><number:text>-</number:text><number:day number:style="long"/><number:text> </number:text><number:hours number:style="long"/><number:text>:</number:text><number:minutes number:style="long"/><number:text>:</number:text><number:seconds number:style="long"/></number:date-style><style:style style:name="moment" style:family="table-cell" style:data-style-name="t"/>' +
  '<number:boolean-style style:name="n"><number:boolean/></number:boolean-style><style:style style:name="b" style:family="table-cell" style:data-style-name="n"/>';
/** No character of XML 1.0 (2.2), escaped or not. */
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

export interface FlatSheet {
  readonly name: string;
  readonly value: Datum;
  /** Columns of a table without rows. */
  readonly names?: readonly string[];
  /** Columns with texts that are days or moments by ISO 8601. */
  readonly dated?: ReadonlyMap<string, 'day' | 'moment'>;
}

/**
 * @param untyped the values are of a syntax that has texts alone, as XML: columns in which each looks the same as a number are numbers
 * @throws FileRefused where a sheet has no room for it
 */
export const writeFlatSheet = (value: Datum, untyped: boolean): WrittenText => writeFlatSheets([{ name: 'Sheet1', value }], untyped);

/** @throws FileRefused where a sheet has no room for it */
export function writeFlatSheets(sheets: readonly FlatSheet[], untyped = false): WrittenText {
  const made = sheets.map((sheet) => tableOf(sheet, untyped));
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<office:document ${NAMESPACES} office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.spreadsheet"><office:automatic-styles>${STYLES}</office:automatic-styles><office:body><office:spreadsheet>${made.map(({ table }) => table).join('\n')}</office:spreadsheet></office:body></office:document>
`;
  return { text, warnings: [...new Set(made.flatMap(({ warnings }) => warnings))] };
}

function tableOf(
  { name, value, names: head, dated = new Map() }: FlatSheet,
  untyped: boolean,
): { readonly table: string; readonly warnings: readonly string[] } {
  const { names, rows, ...told } = rowsOf(value, head);
  if (names.length > MOST_COLUMNS) throw beyond('columns of a sheet', MOST_COLUMNS, names.length);
  if (rows.length + 1 > MOST_ROWS) throw beyond('rows of a sheet', MOST_ROWS, rows.length + 1);
  const numeric = new Set(
    untyped ? names.keys().filter((at) => rows.every((row) => row[at] == null || row[at] === '' || isPlain(String(row[at])))) : [],
  );
  const kinds = names.map((each) => dated.get(each));
  const cellIn = (each: Scalar, at: number): string => {
    const kind = kinds[at];
    if (kind !== undefined && typeof each === 'string') return dateCell(each, kind);
    return cell(numeric.has(at) && each !== '' && each !== null ? Number(each) : each);
  };
  const lines = [names.map(textCell).join(''), ...rows.map((row) => row.map(cellIn).join(''))];
  const body = lines.map((line) => `<table:table-row>${line}</table:table-row>`).join('\n');
  const title = attribute(
    name
      .replace(FORBIDDEN, '')
      .replace(/[[\]:*?/\\]/g, '_')
      .slice(0, LONGEST_NAME) || 'Sheet1',
  );
  return { table: `<table:table table:name="${title}">\n${body}\n</table:table>`, warnings: leftOut(told) };
}

/** What Excel allows for the name of a sheet. */
const LONGEST_NAME = 31;
const attribute = (text: string): string => text.replace(/[&<>"]/g, (each) => ESCAPED[each] ?? '&quot;');

/** A sheet has no zones: a moment is in UTC where it was in a zone. */
const dateCell = (text: string, kind: 'day' | 'moment'): string =>
  `<table:table-cell table:style-name="${kind}" office:value-type="date" office:date-value="${attribute(text.replace('Z', ''))}"/>`;

function cell(value: Scalar): string {
  if (value === null || value === '') return '<table:table-cell/>';
  if (typeof value === 'boolean')
    return `<table:table-cell table:style-name="b" office:value-type="boolean" office:boolean-value="${value}"/>`;
  if (typeof value === 'number' && Number.isFinite(value)) return `<table:table-cell office:value-type="float" office:value="${value}"/>`;
  // A whole number that a double does not hold keeps its digits.
  return textCell(String(value));
}

function textCell(text: string): string {
  const paragraphs = text.replace(FORBIDDEN, '').split(/\r\n|\r|\n/);
  return `<table:table-cell office:value-type="string">${paragraphs.map((line) => `<text:p>${spaced(line)}</text:p>`).join('')}</table:table-cell>`;
}

const ESCAPED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Spaces at an end, and more than one, are elements (6.1.3). LibreOffice 7.4 would drop a tab (6.1.5) from a cell: it becomes a space. */
const spaced = (line: string): string => line.replace(/[&<>]/g, (each) => ESCAPED[each] ?? each).replace(/^ | (?= )| $|\t/g, '<text:s/>');
