/** All kinds of text: some are recognised by their beginning; the others are a tie that the name decides. */
import { tieGroup } from '../../formats.ts';
import { asBuffer, find } from '../../looks/bytes.ts';
import { decode, isText } from '../../looks/charset.ts';
import { isSvgFont } from '../../looks/font.ts';
import { isJson } from '../../looks/json.ts';
import type { Detected, Sample } from '../../looks/sample.ts';
import { attribute, type Root, rootOf } from '../../looks/xml.ts';
import { asFormat, asRefused, tieAmong, UNKNOWN } from '../verdict.ts';
import { likeliest } from './markup.ts';

/** The text kinds of the tie. */
export const TEXT_KINDS: readonly string[] = tieGroup('text').flatMap(({ id, structured }) => (structured ? [] : [id]));

export function text(sample: Sample): Detected | undefined {
  if (!isText(sample)) return undefined;
  const decoded = decode(sample.head);
  const start = decoded.trimStart();
  return (
    opening(start) ??
    notebook(start, sample) ??
    references(start) ??
    markedUp(start, sample) ??
    tieAmong(TEXT_KINDS, dataIn(start, sample) ?? likeliest(decoded))
  );
}

/** Texts with a structure that a converter of plain text would show as it stands. */
const NAMED: readonly (readonly [RegExp, string])[] = [
  [/^TY {2}- /, 'list of references (RIS)'],
  [/^-----BEGIN (?!PGP SIGNED)[A-Z0-9 ]{3,40}-----/, 'key or certificate (PEM)'],
];

/** Subtitles, by what each format begins with. */
const SUBTITLES: readonly (readonly [RegExp, string])[] = [
  [/^WEBVTT(?:[ \t\r\n]|$)/, 'vtt'],
  [/^\[Script Info\]/i, 'ass'],
  [/^\d{1,6}[ \t]{0,9}\r?\n\d{1,3}:\d\d:\d\d[,.]\d{1,3} --> \d/, 'srt'],
  [/^\{\d{1,7}\}\{\d{1,7}\}/, 'sub'],
];

/** Lyrics with times, after lines about the song; a log may begin with a time in brackets, too, so that its name decides. */
const LYRICS = /^(?:\[(?:ar|ti|al|by|au|re|ve|length|offset):[^\]\r\n]{0,200}\]\s{0,9}){0,10}\[\d{1,3}:\d\d\.\d{2,3}\]/i;

/** Fields that a person who writes a memo does not think of. */
const MAILED = ['message-id', 'mime-version', 'received', 'return-path', 'content-type', 'content-transfer-encoding'];
const MOST_FIELDS = 200;

/** The line before each message of a mailbox (RFC 4155). */
const MAILBOX = /^From \S{1,200} {1,4}(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d/;
/** A web page that a browser saved with its pictures, in the form of a message (RFC 2557). */
const WEB_ARCHIVE = /^(?:From:[ \t]{0,9}(?:<Saved by |"?Saved by (?:Windows )?Internet Explorer)|Snapshot-Content-Location:)/i;

/** A header of fields, with what only programs write among them (RFC 5322, 2.2). A message with related parts may have been saved as a web archive. */
function mailed(start: string): Detected | undefined {
  const names = new Set<string>();
  let [isRelated, isSaved] = [false, false];
  // A field may go on in lines that begin with a blank.
  for (const line of start.slice(0, 32_768).split(/\r?\n(?![ \t])/, MOST_FIELDS)) {
    const [, name] = /^([!-9;-~]{1,60}):(?:\s|$)/.exec(line.slice(0, 80)) ?? [];
    if (name === undefined) break;
    names.add(name.toLowerCase());
    isRelated ||= /^content-type:\s{0,9}multipart\/related\b/i.test(line);
    isSaved ||= WEB_ARCHIVE.test(line);
  }
  const isMail = names.has('from') && names.size > 2 && MAILED.some((name) => names.has(name));
  // Word processors name neither a sender nor a receiver.
  if (!isMail) return isRelated && names.has('mime-version') && !names.has('to') ? asFormat('mhtml') : undefined;
  if (isSaved) return asFormat('mhtml');
  return isRelated ? tieAmong(['eml', 'mhtml'], 'eml') : asFormat('eml');
}

/** Kinds that the first meaningful line decides. */
function opening(start: string): Detected | undefined {
  const found = NAMED.find(([pattern]) => pattern.test(start));
  if (found !== undefined) return asRefused(found[1]);
  const subtitle = SUBTITLES.find(([pattern]) => pattern.test(start));
  if (subtitle !== undefined) return asFormat(subtitle[1]);
  if (/^BEGIN:VCARD\b/i.test(start)) return asFormat('vcf');
  if (/^BEGIN:VCALENDAR\b/i.test(start)) return asFormat('ics');
  if (LYRICS.test(start)) return tieAmong([...TEXT_KINDS, 'lrc'], 'lrc');
  if (MAILBOX.test(start)) return asFormat('mbox');
  const mail = mailed(start);
  if (mail !== undefined) return mail;
  if (/^ID;P/.test(start)) return asFormat('slk');
  if (/^TABLE\r?\n0,1\r?\n/.test(start)) return asFormat('dif');
  if (start.startsWith('{\\rtf')) return asFormat('rtf');
  if (/^#define\s{1,8}\S{0,80}width\s{1,8}\d/.test(codeLine(start)) && start.slice(0, 2048).includes('_bits[]')) return asFormat('xbm');
  const line = firstLine(start, /^(?:%|$)/);
  if (/^\\(?:documentclass|documentstyle|RequirePackage|PassOptionsTo|NeedsTeXFormat)\b/.test(line)) return asFormat('tex');
  if (/^\\input texinfo\b/.test(line)) return asFormat('texi');
  if (/^\\(?:start(?:text|component|product|project)|setup[a-z]{3,30}|enableregime|mainlanguage|usemodule)\b/.test(line))
    return asFormat('ctx');
  if (
    /^@(?:article|book|booklet|comment|in(?:book|collection|proceedings)|manual|mastersthesis|misc|online|phdthesis|preamble|proceedings|string|techreport|unpublished)\s{0,4}[{(]/i.test(
      line,
    )
  )
    return asFormat('bib');
  if (start.startsWith('Content-Type: text/x-zim-wiki')) return asFormat('zim');
  return isManual(start) ? asFormat('man') : isTypescript(start) ? asFormat('ms') : undefined;
}

/** A paper for groff's macros ms: requests that manual pages do not have (groff_ms(7)). */
const isTypescript = (start: string): boolean =>
  /^[.']/.test(start) && firstLines(start).some((line) => /^\.(?:NH|TL|AU|AB|RP|XS|QS)(?: |$)/.test(line));

/** References in the JSON of the Citation Style Language: a list of items with types and dates. */
function references(start: string): Detected | undefined {
  if (!/^\[\s{0,20}\{/.test(start)) return undefined;
  const item = start.slice(0, 16_384);
  const has = (key: string): boolean => item.includes(`"${key}"`);
  return has('type') && has('id') && (has('issued') || has('container-title') || has('family')) && CSL_TYPE.test(item)
    ? asFormat('csljs')
    : undefined;
}

/** What CSL calls an item (CSL 1.0.2, appendix III), the usual ones. */
const CSL_TYPE =
  /"type"\s{0,9}:\s{0,9}"(?:article|book|chapter|paper|thesis|report|webpage|post|dataset|manuscript|patent|speech|software|entry|review|document|standard)[a-z-]{0,20}"/;

/** A manual page begins with a title line, or with a roff comment and has one later (groff's man(7), mdoc(7)). */
function isManual(start: string): boolean {
  const title = /^\.(?:TH \S|Dd )/;
  return title.test(start) || (/^[.']\\"/.test(start) && firstLines(start).some((line) => title.test(line)));
}

const firstLines = (start: string): readonly string[] => start.slice(0, 16_384).split(/\r?\n/);

/** The first line that `skipped` does not match, within the first 16 k characters. */
const firstLine = (start: string, skipped: RegExp): string =>
  firstLines(start)
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

/** Data by its beginning; most YAML and TOML could be a memo or a program, and is known by its name alone. */
function dataIn(start: string, { head, size }: Sample): 'json' | 'jsonl' | 'toml' | 'yaml' | undefined {
  // In Markdown, this is the first of two lines around the metadata.
  if (/^---\r?\n/.test(start) && /^[\w-]{1,60}:/m.test(start.slice(0, 4096)) && !/^---\s{0,9}$/m.test(start.slice(4))) return 'yaml';
  // A table in a list, with its first value: an INI file has none (TOML 1.0).
  if (/^\[\[[\w.-]{1,60}\]\]\r?\n[\w-]{1,60} = /m.test(start.slice(0, 16_384))) return 'toml';
  if (!/^[[{]/.test(start)) return undefined;
  // RFC 8259; what goes on beyond the sample could end in anything.
  if (head.length >= size && isJson(start)) return 'json';
  const lines = start.split(/\r?\n/, 3).slice(0, 2);
  return lines.length === 2 && lines.every((line) => line.startsWith('{') && isJson(line)) ? 'jsonl' : undefined;
}

const FLAT: Readonly<Record<string, string>> = { text: 'fodt', spreadsheet: 'fods', presentation: 'fodp', graphics: 'fodg' };

/** Root elements of DocBook: certain with its namespace or document type, possible without. */
const DOCBOOK = /^(?:book|article|chapter|section|sect1|part|set|reference|refentry|appendix|preface|glossary|topic)$/;

/** Elements that an HTML fragment begins with. */
const FRAGMENT =
  /^(?:a|abbr|article|aside|b|blockquote|body|br|center|code|dd|details|div|dl|em|figure|font|footer|form|h[1-6]|head|header|hr|i|img|li|link|main|meta|nav|ol|p|pre|script|section|span|strong|style|table|tbody|td|title|tr|u|ul)$/i;

/** XML of Word and Excel 2003, and Word's flat package. They must not count as plain text: LibreOffice would open them as documents. */
const FOREIGN_OFFICE: readonly (readonly [RegExp, string])[] = [
  [/^\w*:wordDocument$/, 'Word document in XML (2003)'],
  [/^(?:|ss):Workbook$/, 'Excel workbook in XML (2003)'],
  [/^pkg:package$/, 'Office document in one XML file (flat OPC)'],
];

function markedUp(start: string, { tail }: Sample): Detected | undefined {
  const root = start.startsWith('<') ? rootOf(start) : undefined;
  if (root === undefined) return undefined;
  if (/^html\b/i.test(root.doctype) || root.name.toLowerCase() === 'html') return asFormat('html');
  if (root.name === 'svg') return asFormat(isSvgFont(start, asBuffer(tail).toString('latin1')) ? 'svgf' : 'svg');
  if (root.name === 'FictionBook') return asFormat('fb2');
  if (root.name.toLowerCase() === 'opml') return asFormat('opml');
  if (root.name === 'document' && root.prefix === 'office') return flatDocument(root, start);
  const foreign = FOREIGN_OFFICE.find(([pattern]) => pattern.test(`${root.prefix}:${root.name}`));
  if (foreign !== undefined) return asRefused(foreign[1]);
  if (root.name === 'abiword') return asFormat('abw');
  if (root.name === 'tt' && /w3\.org\/ns\/ttml|w3\.org\/2006\/\d\d\/ttaf1/.test(root.attributes)) return asFormat('ttml');
  if (/JATS|NLM/.test(root.doctype) || (root.name === 'article' && attribute(root, 'dtd-version') !== undefined)) return asFormat('jats');
  if (root.name === 'TEI' || root.name === 'TEI.2') return asFormat('tei');
  if (root.name === 'Document' && start.slice(0, 1024).includes('SnippetType="InCopyInterchange"')) return asFormat('icml');
  if (/DocBook/.test(root.doctype) || /docbook\.org\/ns\/docbook/.test(root.attributes)) return asFormat('dbk');
  // Another document type: unknown XML.
  const otherwise = /^<\?xml\s/.test(start) ? 'xml' : 'txt';
  if (root.doctype !== '') return tieAmong(TEXT_KINDS, otherwise);
  // HTML has sections and articles too, but no `para`.
  if (DOCBOOK.test(root.name) && start.includes('<para')) return tieAmong([...TEXT_KINDS, 'dbk'], 'dbk');
  return tieAmong(TEXT_KINDS, FRAGMENT.test(root.name) ? likeliest(start, 'html') : otherwise);
}

/** Flat OpenDocument has its media type in the root, else the element in its body tells. */
function flatDocument(root: Root, start: string): Detected {
  const told = /opendocument\.(text|spreadsheet|presentation|graphics)/.exec(attribute(root, 'mimetype') ?? '')?.[1];
  const kind = told ?? Object.keys(FLAT).find((name) => start.includes(`<office:${name}`));
  const id = FLAT[kind ?? ''];
  return id === undefined ? UNKNOWN : asFormat(id);
}
