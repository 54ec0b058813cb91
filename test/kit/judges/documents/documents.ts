/** Whether a converted document is really of its format, and says what its seed says. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { type Content, contentOf, GREEK } from '../../catalog/content.ts';
import { books } from './books.ts';
import { arrowRows, cellsOf, parquetRows } from './columns.ts';
import { expectWellFormed, readUtf8, textOfRtf, textOfRuns, textOfXml, unescapeXml, unzip } from './text.ts';

export { judgePicture } from './pictures.ts';

const run = promisify(execFile);

/** @param from the source's format, where headings, tables and letters of the source can be asked for too */
export async function judge(path: string, format: string, seed: string, from?: string): Promise<void> {
  const content = contentOf(seed);
  const read = READERS[format];
  if (read === undefined) throw new Error(`no judge for documents of the format ${format}`);
  const { text, raw = text } = await read(path, content);
  // Text that was placed on a page stands in frames, whose order in the file is not promised.
  const placed = from === 'pdf' && format === 'odt';
  // Author, year, title: the total stands in the last title, before no other number.
  const cited = from !== undefined && REFERENCES.has(from);
  if (placed) for (const word of content.words) expect(text).toContain(word);
  else expectInOrder(text, content.words, `words in ${format}`);
  if (cited) expect(text).toContain(String(content.total));
  if (!placed && !WITHOUT_NUMBERS.has(format))
    expectInOrder(text, (cited ? content.numbers : [...content.numbers, content.total]).map(String), `numbers in ${format}`);
  // A row of a sheet is one of the table, each cell in its column.
  if (format === 'md' && from !== undefined && SHEETS.has(from)) expect(raw, 'a table in md').toMatch(/^\| [^|\n]+ \| \d+ \| \d+ \|$/m);
  if (from === undefined || !STRUCTURED.has(from)) return;
  if (!WITHOUT_GREEK.has(format)) expect(text, `letters beyond Latin in ${format}`).toContain(GREEK);
  for (const [what, pattern] of Object.entries(STRUCTURE[format] ?? {})) expect(raw, `a ${what} in ${format}`).toMatch(pattern);
}

/** The page in the archive of a message; of a mailbox, the last message's. */
export async function judgeMailed(path: string, seed: string, from: string): Promise<void> {
  const files = await unzip(await readFile(path));
  const [name = '', page] = [...files].filter(([each]) => /(?:message|page)\.html$/.test(each)).at(-1) ?? [];
  expect(name).toBe(from === 'mbox' ? '0002/message.html' : from === 'mhtml' ? 'page.html' : 'message.html');
  const folder = await mkdtemp(join(tmpdir(), 'filemill-mailed-'));
  try {
    await writeFile(join(folder, 'page.html'), page ?? '');
    await judge(join(folder, 'page.html'), 'html', seed, from);
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface Found {
  readonly text: string;
  /** Where the structure shows. */
  readonly raw?: string;
}
type Reader = (path: string, content: Content) => Promise<Found>;

/** In a workbook they are binary and looked for as such; an outline has no tables. */
const WITHOUT_NUMBERS = new Set(['xls', 'opml']);
/** Fonts of the page, or an encoding of 8 bits, decide there. */
const WITHOUT_GREEK = new Set(['pdf', 'doc', 'xls', 'ppt', 'man', 'pmlz', 'prc']);
/** Lists of references, which a style sets in its own way. */
const REFERENCES = new Set(['bib', 'csljs']);
const SHEETS = new Set(['xlsx', 'xls', 'ods', 'fods', 'csv', 'tsv']);
/** Sources whose fixture has a heading and a table that every engine understands. */
const STRUCTURED = new Set([
  'docx',
  'odt',
  'fodt',
  'html',
  'md',
  'rst',
  'org',
  'dbk',
  'epub',
  'wiki',
  'textile',
  'ipynb',
  ...'jats jira doku twiki tiki creol vwiki muse hdoc t2t sxw'.split(' '),
]);
const STRUCTURE: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  html: { heading: /<h1\b/i, table: /<table\b/i },
  epub: { heading: /<h1\b/i, table: /<table\b/i },
  htmlz: { heading: /<h1\b/i, table: /<table\b/i },
  mobi: { table: /<table\b/i },
  azw3: { heading: /<h1\b/i, table: /<table\b/i },
  md: { heading: /^# /m, table: /\|.*\d{4}.*\||<table/ },
  docx: { heading: /w:pStyle w:val="Heading1"/, table: /<w:tbl>/ },
  odt: { heading: /<text:h\b/, table: /<table:table\b/ },
  fodt: { heading: /<text:h\b/, table: /<table:table\b/ },
  dbk: { heading: /<title>/, table: /<(informal)?table\b/ },
  tex: { heading: /\\(sub)?section/, table: /\\begin\{(longtable|tabular)/ },
  org: { heading: /^\* /m, table: /^\|/m },
  adoc: { heading: /^={1,2} /m, table: /^\|===/m },
  wiki: { heading: /^= .* =$/m, table: /^\{\|/m },
  textile: { heading: /^h1/m, table: /<table|^\|/m },
  rst: { heading: /^(=|-){5,}/m, table: /^(=+ +=+|\+-+\+)/m },
  rtf: { table: /\\trowd/ },
  pptx: { table: /<a:tbl>/ },
  jats: { heading: /<sec\b[^>]*>\s*<title>/, table: /<table>/ },
  tei: { heading: /<head>/, table: /<table>/ },
  icml: { heading: /AppliedParagraphStyle="ParagraphStyle\/Header1"/, table: /<Table\b/ },
  texi: { heading: /^@(chapter|section|unnumbered)/m, table: /^@multitable/m },
  ctx: { heading: /\\(start)?(chapter|section)(level)?\b/, table: /\\start(xtable|placetable|table)/ },
  ms: { heading: /^\.(SH|NH)/m, table: /^\.TS/m },
  jira: { heading: /^h1\. /m, table: /^\|\|?/m },
  doku: { heading: /^={6} .* ={6}$/m, table: /^[|^].*[|^]$/m },
  zim: { heading: /^={6} .* ={6}$/m, table: /^\|/m },
  xwiki: { heading: /^= .*=$/m, table: /^\|/m },
  muse: { heading: /^\*+ /m, table: /\|/ },
  hdoc: { heading: /^= /m, table: /^\+[-=]+\+/m },
};

const plain =
  (shape: RegExp): Reader =>
  async (path) => {
    const text = await readUtf8(path);
    expect(text).toMatch(shape);
    return { text };
  };

const xml =
  (shape: RegExp): Reader =>
  async (path) => {
    const raw = await readUtf8(path);
    expect(raw).toMatch(shape);
    expectWellFormed(raw, path);
    return { text: textOfXml(raw), raw };
  };

const parts =
  (pattern: RegExp, text: (part: string) => string, least = 1): Reader =>
  async (path) => {
    const all = await unzip(await readFile(path));
    expect([...all.keys()]).toContain('[Content_Types].xml');
    const names = [...all.keys()].filter((name) => pattern.test(name)).sort(new Intl.Collator('en', { numeric: true }).compare);
    expect(names.length, `${path} has no ${pattern}`).toBeGreaterThanOrEqual(least);
    const raws = names.map((name) => all.get(name)?.toString() ?? '');
    for (const raw of raws) expectWellFormed(raw, path);
    return { text: raws.map(text).join('\n'), raw: raws.join('\n') };
  };

const openDocument =
  (kind: string): Reader =>
  async (path) => {
    const all = await unzip(await readFile(path));
    expect([...all.keys()][0]).toBe('mimetype');
    expect(all.get('mimetype')?.toString()).toBe(`application/vnd.oasis.opendocument.${kind}`);
    const raw = all.get('content.xml')?.toString() ?? '';
    expectWellFormed(raw, path);
    return { text: textOfXml(raw), raw };
  };

/** OLE compound file: texts stand in it as UTF-16 or as 8-bit, numbers of a sheet as RK integers or doubles (MS-XLS 2.5.217, 2.5.342). */
const ole =
  (numbers: boolean): Reader =>
  async (path, content) => {
    const bytes = await readFile(path);
    expect(bytes.subarray(0, 8).toString('hex')).toBe('d0cf11e0a1b11ae1');
    if (numbers)
      for (const number of [...content.numbers, content.total]) expect(holdsNumber(bytes, number), `${number} in ${path}`).toBe(true);
    const views = [bytes.toString('latin1'), bytes.toString('utf16le'), bytes.subarray(1).toString('utf16le')];
    // Strings abut each other and their lengths: what follows a word in the bytes may look like a letter.
    const inOrder = new RegExp(content.words.join('[\\s\\S]*?'), 'i');
    const text = views.find((view) => inOrder.test(view));
    return { text: text === undefined ? '' : `${content.words.join(' ')}\n${text}` };
  };

function holdsNumber(bytes: Buffer, number: number): boolean {
  const double = Buffer.alloc(8);
  double.writeDoubleLE(number);
  const rk = Buffer.alloc(4);
  rk.writeInt32LE((number << 2) | 2);
  // An RK number that is no integer is the upper half of a double.
  return bytes.includes(double) || bytes.includes(rk) || bytes.includes(double.subarray(4));
}

const separated =
  (by: string): Reader =>
  async (path) => {
    const text = await readUtf8(path);
    expect(text).toMatch(new RegExp(`\\d{4}"?${by}"?\\d{4}`));
    return { text };
  };

const notebook: Reader = async (path) => {
  const book: { nbformat: number; cells: { source: string | string[] }[] } = JSON.parse(await readUtf8(path));
  expect(book.nbformat).toBe(4);
  return { text: book.cells.map(({ source }) => [source].flat().join('')).join('\n') };
};

const xlsx: Reader = async (path) => {
  const all = await unzip(await readFile(path));
  const part = (name: string) => all.get(name)?.toString() ?? '';
  expectWellFormed(part('xl/workbook.xml'), path);
  expectWellFormed(part('xl/worksheets/sheet1.xml'), path);
  const shared = [...part('xl/sharedStrings.xml').matchAll(/<si\b[^>]*>([\s\S]*?)<\/si>/g)].map(([, item]) =>
    textOfXml(item ?? '').replaceAll('\n', ''),
  );
  const cells = [...part('xl/worksheets/sheet1.xml').matchAll(/<c\b([^>]*)>([\s\S]*?)<\/c>/g)].map(([, attributes = '', inside = '']) => {
    const value = /<v>([^<]*)<\/v>/.exec(inside)?.[1] ?? textOfXml(inside).replaceAll('\n', '');
    return attributes.includes('t="s"') ? (shared[Number(value)] ?? '') : value;
  });
  return { text: cells.join('\n') };
};

const epub: Reader = async (path) => {
  const all = await unzip(await readFile(path));
  expect([...all.keys()][0]).toBe('mimetype');
  expect(all.get('mimetype')?.toString()).toBe('application/epub+zip');
  const opf = /full-path="([^"]+)"/.exec(all.get('META-INF/container.xml')?.toString() ?? '')?.[1] ?? '';
  const book = all.get(opf)?.toString() ?? '';
  expectWellFormed(book, path);
  const hrefs = new Map(
    [...book.matchAll(/<item\b[^>]*>/g)].map(([item]) => [/\bid="([^"]+)"/.exec(item)?.[1], /\bhref="([^"]+)"/.exec(item)?.[1] ?? '']),
  );
  const spine = [...book.matchAll(/<itemref\b[^>]*idref="([^"]+)"/g)].map(([, id]) => join(opf, '..', hrefs.get(id) ?? ''));
  const chapters = spine.map((name) => all.get(name)?.toString() ?? '');
  for (const chapter of chapters) expectWellFormed(chapter, path);
  return { text: chapters.map(textOfXml).join('\n'), raw: chapters.join('\n') };
};

const pdf: Reader = async (path) => {
  expect((await readFile(path)).subarray(0, 5).toString()).toBe('%PDF-');
  const { stdout } = await run('pdftotext', ['-layout', '-enc', 'UTF-8', path, '-'], { maxBuffer: 1 << 26 });
  return { text: stdout };
};

const opml: Reader = async (path) => {
  const { raw = '' } = await xml(/<opml\b/)(path, contentOf(''));
  const texts = [...raw.matchAll(/\b(?:text|_note)="([^"]*)"/g)].map(([, text]) => unescapeXml(text ?? ''));
  return { text: texts.join('\n') };
};

const DATA_PROGRAM = join(import.meta.dirname, 'data.py');
const dataIn =
  (syntax: string): Reader =>
  async (path) => ({ text: (await run('python3', [DATA_PROGRAM, path, syntax])).stdout });

const READERS: Readonly<Record<string, Reader>> = {
  parquet: async (path) => ({ text: cellsOf(await parquetRows(path)) }),
  arrow: async (path) => ({ text: cellsOf(await arrowRows(path)) }),
  ...Object.fromEntries(['json', 'jsonl', 'yaml', 'toml', 'xml', 'avro', 'sqlite'].map((syntax) => [syntax, dataIn(syntax)])),
  txt: plain(/\S/),
  md: plain(/\S/),
  rst: plain(/\S/),
  org: plain(/\S/),
  adoc: plain(/\S/),
  wiki: plain(/\S/),
  textile: plain(/\S/),
  man: plain(/^\.(TH|SH|PP|TS)/m),
  tex: plain(/\\begin\{document\}[\s\S]*\\end\{document\}/),
  csv: separated(','),
  tsv: separated('\t'),
  slk: async (path, content) => {
    const { text } = await plain(/^ID;P[\s\S]*^E\s*$/m)(path, content);
    return { text: text.replaceAll(';K', '; ') };
  },
  dif: plain(/^TABLE\r?\n0,1[\s\S]*\r?\nEOD\s*$/),
  jira: plain(/\S/),
  doku: plain(/\S/),
  xwiki: plain(/\S/),
  muse: plain(/\S/),
  hdoc: plain(/\S/),
  zim: plain(/^Content-Type: text\/x-zim-wiki\nWiki-Format: zim/),
  texi: plain(/^\\input texinfo[\s\S]*^@bye\s*$/m),
  ctx: plain(/\\starttext[\s\S]*\\stoptext/),
  ms: plain(/^\.(LP|SH|NH|TS)/m),
  bib: plain(/^@book\{key0,/),
  csljs: async (path) => {
    const items: { title: string; issued: { 'date-parts': number[][] } }[] = JSON.parse(await readUtf8(path));
    return { text: items.map(({ title, issued }) => `${issued['date-parts'].flat().join(' ')} ${title}`).join('\n') };
  },
  jats: xml(/<article\b[^>]*dtd-version="1/),
  tei: async (path, content) => {
    const { raw = '' } = await xml(/<TEI xmlns="http:\/\/www\.tei-c\.org\/ns\/1\.0"/)(path, content);
    // Its headings are named as the heads of pages, which have no text.
    return { text: textOfXml(raw.replaceAll(/<(\/?)head>/g, '<$1p>')), raw };
  },
  icml: xml(/SnippetType="InCopyInterchange"/),
  ipynb: notebook,
  html: async (path) => {
    const raw = await readUtf8(path);
    expect(raw).toMatch(/<html\b[\s\S]*<body\b[\s\S]*<\/body>\s*<\/html>\s*$/i);
    return { text: textOfXml(raw), raw };
  },
  dbk: xml(/<(article|book)\b[^>]*docbook/),
  fb2: xml(/<FictionBook\b/),
  opml,
  fodt: xml(/<office:document\b[^>]*opendocument\.text"/),
  fods: xml(/<office:document\b[^>]*opendocument\.spreadsheet"/),
  fodp: xml(/<office:document\b[^>]*opendocument\.presentation"/),
  odt: openDocument('text'),
  ods: openDocument('spreadsheet'),
  odp: openDocument('presentation'),
  docx: parts(/^word\/document\.xml$/, (part) => textOfRuns(part, 'w')),
  pptx: parts(/^ppt\/slides\/slide\d+\.xml$/, (part) => textOfRuns(part, 'a')),
  xlsx,
  epub,
  pdf,
  rtf: async (path) => {
    const raw = await readFile(path, 'latin1');
    expect(raw).toMatch(/^\{\\rtf1[\s\S]*\}\s*$/);
    return { text: textOfRtf(raw), raw };
  },
  ...books,
  doc: ole(false),
  xls: ole(true),
  ppt: ole(false),
};

/** Each as a separate word, one after the other, in any case. */
function expectInOrder(text: string, wanted: readonly string[], what: string): void {
  const plainText = text.replace(/(?<=\d)[\u00a0\u202f,](?=\d{3}\b)/g, '');
  let from = 0;
  for (const word of wanted) {
    const pattern = new RegExp(`(?<![\\p{L}\\d])${word}(?![\\p{L}\\d])`, 'giu');
    pattern.lastIndex = from;
    const match = pattern.exec(plainText);
    expect(match, `${what}: "${word}" of ${wanted.join(' ')} is missing or out of order`).not.toBeNull();
    from = pattern.lastIndex;
  }
}
