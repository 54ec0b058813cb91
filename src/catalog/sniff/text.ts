/** Text of every kind: what its beginning settles is a format of its own, the rest is one tie that the name decides. */
import { tieGroup } from '../formats.ts';
import { find } from './bytes.ts';
import { decode, isText } from './charset.ts';
import { likeliest } from './markup.ts';
import type { Detected, Sample } from './sample.ts';
import { format, tieAmong, UNKNOWN } from './verdict.ts';
import { attribute, type Root, rootOf } from './xml.ts';

/** These have a structure that plain text cannot have by chance, so a name cannot make a text one of them. */
const STRUCTURED = ['ipynb', 'opml', 'dbk'];

/** Text kinds between which a name decides. */
export const TEXT_KINDS: readonly string[] = tieGroup('text').flatMap(({ id }) => (STRUCTURED.includes(id) ? [] : [id]));

export function text(sample: Sample): Detected | undefined {
  if (!isText(sample)) return undefined;
  const decoded = decode(sample.head);
  const start = decoded.trimStart();
  return opening(start) ?? notebook(start, sample) ?? markedUp(start) ?? tieAmong(TEXT_KINDS, likeliest(decoded));
}

/** What the first line that says something decides outright. */
function opening(start: string): Detected | undefined {
  if (start.startsWith('{\\rtf')) return format('rtf');
  if (/^#define\s{1,8}\S{0,80}width\s{1,8}\d/.test(codeLine(start)) && start.slice(0, 2048).includes('_bits[]')) return format('xbm');
  const line = firstLine(start, /^(?:%|$)/);
  if (/^\\(?:documentclass|documentstyle|RequirePackage|PassOptionsTo|NeedsTeXFormat)\b/.test(line)) return format('tex');
  return isManual(start) ? format('man') : undefined;
}

/** A title line first, or behind macros where the page begins with a comment in roff's manner (groff's man(7), mdoc(7)). */
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

/** The first line that `skipped` does not match; looked for in the first 16 k characters. */
const firstLine = (start: string, skipped: RegExp): string =>
  start
    .slice(0, 16_384)
    .split(/\r?\n/)
    .map((line) => line.trim())
    .find((line) => !skipped.test(line)) ?? '';

/** C code past one opening comment. */
const codeLine = (start: string): string => {
  const end = start.startsWith('/*') ? start.indexOf('*/') : -2;
  return start.slice(end + 2, end + 300).trimStart();
};

/** A notebook's version may be its last key (nbformat 4 sorts them): then it stands in the tail. */
function notebook(start: string, { head, tail }: Sample): Detected | undefined {
  if (!start.startsWith('{')) return undefined;
  const both = (key: string): boolean => find(head, key) >= 0 || find(tail, key) >= 0;
  return both('"nbformat"') && (both('"cells"') || both('"worksheets"')) ? format('ipynb') : undefined;
}

const FLAT: Readonly<Record<string, string>> = { text: 'fodt', spreadsheet: 'fods', presentation: 'fodp' };

/** Roots of DocBook: with its name space or document type it is one, without it may be. */
const DOCBOOK = /^(?:book|article|chapter|section|sect1|part|set|reference|refentry|appendix|preface|glossary|topic)$/;

/** Elements that begin a piece of HTML. */
const FRAGMENT =
  /^(?:a|abbr|article|aside|b|blockquote|body|br|center|code|dd|details|div|dl|em|figure|font|footer|form|h[1-6]|head|header|hr|i|img|li|link|main|meta|nav|ol|p|pre|script|section|span|strong|style|table|tbody|td|title|tr|u|ul)$/i;

/** Word's and Excel's XML of 2003 and Word's flat package: as plain text, LibreOffice would still open them as documents. */
const FOREIGN_OFFICE = /^(?:\w*:wordDocument|(?:|ss):Workbook|pkg:package)$/;

function markedUp(start: string): Detected | undefined {
  const root = start.startsWith('<') ? rootOf(start) : undefined;
  if (root === undefined) return undefined;
  if (/^html\b/i.test(root.doctype) || root.name.toLowerCase() === 'html') return format('html');
  if (root.name === 'svg') return format('svg');
  if (root.name === 'FictionBook') return format('fb2');
  if (root.name.toLowerCase() === 'opml') return format('opml');
  if (root.name === 'document' && root.prefix === 'office') return flatDocument(root, start);
  if (FOREIGN_OFFICE.test(`${root.prefix}:${root.name}`)) return UNKNOWN;
  if (/DocBook/.test(root.doctype) || /docbook\.org\/ns\/docbook/.test(root.attributes)) return format('dbk');
  // Another document type: XML that we know nothing of.
  if (root.doctype !== '') return tieAmong(TEXT_KINDS, 'txt');
  // HTML has sections and articles too, but no such paragraphs.
  if (DOCBOOK.test(root.name) && start.includes('<para')) return tieAmong([...TEXT_KINDS, 'dbk'], 'dbk');
  return tieAmong(TEXT_KINDS, FRAGMENT.test(root.name) ? likeliest(start, 'html') : 'txt');
}

/** Flat OpenDocument says its media type in the root; without it, its body's element does. */
function flatDocument(root: Root, start: string): Detected {
  const told = /opendocument\.(text|spreadsheet|presentation)/.exec(attribute(root, 'mimetype') ?? '')?.[1];
  const kind = told ?? Object.keys(FLAT).find((name) => start.includes(`<office:${name}`));
  const id = FLAT[kind ?? ''];
  return id === undefined ? UNKNOWN : format(id);
}
