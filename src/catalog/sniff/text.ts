/** All kinds of text: some are recognised by their beginning; the others are a tie that the name decides. */
import { tieGroup } from '../formats.ts';
import { asBuffer, find } from './bytes.ts';
import { decode, isText } from './charset.ts';
import { isSvgFont } from './font.ts';
import { likeliest } from './markup.ts';
import type { Detected, Sample } from './sample.ts';
import { asFormat, tieAmong, UNKNOWN } from './verdict.ts';
import { attribute, type Root, rootOf } from './xml.ts';

/** The text kinds of the tie. */
export const TEXT_KINDS: readonly string[] = tieGroup('text').flatMap(({ id, structured }) => (structured ? [] : [id]));

export function text(sample: Sample): Detected | undefined {
  if (!isText(sample)) return undefined;
  const decoded = decode(sample.head);
  const start = decoded.trimStart();
  return opening(start) ?? notebook(start, sample) ?? markedUp(start, sample) ?? tieAmong(TEXT_KINDS, likeliest(decoded));
}

/** Kinds that the first meaningful line decides. */
function opening(start: string): Detected | undefined {
  if (start.startsWith('{\\rtf')) return asFormat('rtf');
  if (/^#define\s{1,8}\S{0,80}width\s{1,8}\d/.test(codeLine(start)) && start.slice(0, 2048).includes('_bits[]')) return asFormat('xbm');
  const line = firstLine(start, /^(?:%|$)/);
  if (/^\\(?:documentclass|documentstyle|RequirePackage|PassOptionsTo|NeedsTeXFormat)\b/.test(line)) return asFormat('tex');
  return isManual(start) ? asFormat('man') : undefined;
}

/** A manual page begins with a title line, or with a roff comment and has one later (groff's man(7), mdoc(7)). */
function isManual(start: string): boolean {
  const title = /^\.(?:TH \S|Dd )/;
  return (
    title.test(start) ||
    (/^[.']\\"/.test(start) &&
      start
        .slice(0, 16_384)
        .split(/\r?\n/)
        .some((line) => title.test(line)))
  );
}

/** The first line that `skipped` does not match, within the first 16 k characters. */
const firstLine = (start: string, skipped: RegExp): string =>
  start
    .slice(0, 16_384)
    .split(/\r?\n/)
    .map((line) => line.trim())
    .find((line) => !skipped.test(line)) ?? '';

/** C code after one opening comment. */
const codeLine = (start: string): string => {
  const end = start.startsWith('/*') ? start.indexOf('*/') : -2;
  return start.slice(end + 2, end + 300).trimStart();
};

/** A notebook's version may be its last key (nbformat 4 sorts them), and so be in the tail. */
function notebook(start: string, { head, tail }: Sample): Detected | undefined {
  if (!start.startsWith('{')) return undefined;
  const both = (key: string): boolean => find(head, key) >= 0 || find(tail, key) >= 0;
  return both('"nbformat"') && (both('"cells"') || both('"worksheets"')) ? asFormat('ipynb') : undefined;
}

const FLAT: Readonly<Record<string, string>> = { text: 'fodt', spreadsheet: 'fods', presentation: 'fodp' };

/** Root elements of DocBook: certain with its namespace or document type, possible without. */
const DOCBOOK = /^(?:book|article|chapter|section|sect1|part|set|reference|refentry|appendix|preface|glossary|topic)$/;

/** Elements that an HTML fragment begins with. */
const FRAGMENT =
  /^(?:a|abbr|article|aside|b|blockquote|body|br|center|code|dd|details|div|dl|em|figure|font|footer|form|h[1-6]|head|header|hr|i|img|li|link|main|meta|nav|ol|p|pre|script|section|span|strong|style|table|tbody|td|title|tr|u|ul)$/i;

/** XML of Word and Excel 2003, and Word's flat package. They must not count as plain text: LibreOffice would open them as documents. */
const FOREIGN_OFFICE = /^(?:\w*:wordDocument|(?:|ss):Workbook|pkg:package)$/;

function markedUp(start: string, { tail }: Sample): Detected | undefined {
  const root = start.startsWith('<') ? rootOf(start) : undefined;
  if (root === undefined) return undefined;
  if (/^html\b/i.test(root.doctype) || root.name.toLowerCase() === 'html') return asFormat('html');
  if (root.name === 'svg') return asFormat(isSvgFont(start, asBuffer(tail).toString('latin1')) ? 'svgf' : 'svg');
  if (root.name === 'FictionBook') return asFormat('fb2');
  if (root.name.toLowerCase() === 'opml') return asFormat('opml');
  if (root.name === 'document' && root.prefix === 'office') return flatDocument(root, start);
  if (FOREIGN_OFFICE.test(`${root.prefix}:${root.name}`)) return UNKNOWN;
  if (/DocBook/.test(root.doctype) || /docbook\.org\/ns\/docbook/.test(root.attributes)) return asFormat('dbk');
  // Another document type: unknown XML.
  if (root.doctype !== '') return tieAmong(TEXT_KINDS, 'txt');
  // HTML has sections and articles too, but no `para`.
  if (DOCBOOK.test(root.name) && start.includes('<para')) return tieAmong([...TEXT_KINDS, 'dbk'], 'dbk');
  return tieAmong(TEXT_KINDS, FRAGMENT.test(root.name) ? likeliest(start, 'html') : 'txt');
}

/** Flat OpenDocument has its media type in the root, else the element in its body tells. */
function flatDocument(root: Root, start: string): Detected {
  const told = /opendocument\.(text|spreadsheet|presentation)/.exec(attribute(root, 'mimetype') ?? '')?.[1];
  const kind = told ?? Object.keys(FLAT).find((name) => start.includes(`<office:${name}`));
  const id = FLAT[kind ?? ''];
  return id === undefined ? UNKNOWN : asFormat(id);
}
