/** What is read of documents, tables, e-mail, archives, fonts and models for receipts, and what is said of the differences. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { areCompared, propertiesWithoutRoom, receiptOf } from '../../../src/catalog/fidelity/receipt.ts';
import type { Options } from '../../../src/catalog/options/options.ts';
import { type Contents, contentsOf } from '../../../src/catalog/planning/contents/measure.ts';
import { distinctWords, foundWords, joinedWords } from '../../../src/catalog/planning/contents/words.ts';
import { piecesOf } from '../../../src/judge/pieces.ts';
import { ADDRESS, fullDocx, fullPdf, fullXlsx, TITLE } from '../../kit/fixtures/documents/full.ts';
import { writeZip } from '../../kit/fixtures/zip.ts';

const home = mkdtempSync(join(tmpdir(), 'filemill-contents-'));
afterAll(() => rmSync(home, { recursive: true }));

function measured(format: string, content: string | Uint8Array): Contents {
  const path = join(home, `file.${format}`);
  writeFileSync(path, content);
  return measuredAt(format, path);
}
function measuredAt(format: string, path: string): Contents {
  const fd = openSync(path, 'r');
  try {
    return (contentsOf(format, piecesOf(fd))['contents'] as Contents | undefined) ?? {};
  } finally {
    closeSync(fd);
  }
}

describe('of a document are read', () => {
  it('in DOCX its text without what does not show, and all that is in it', async () => {
    const { document } = measuredAt('docx', await fullDocx(join(home, 'full.docx')));
    expect(document?.words?.join(' ')).toBe('beginning plain words in three pieces elsewhere doubtful inserted ending remarkable footnote');
    expect(document).toMatchObject({
      ...{ pageSizes: ['148 × 210 mm'], links: 1, headings: 2, fields: 1, pictures: 1, footnotes: 1, comments: 1, changes: 2 },
      ...{ language: 'de', title: TITLE },
    });
  });

  it.each([
    ['plain', false],
    ['packed', true],
  ])('in a PDF with %s objects its pages, links, outline, notes, pictures and names', (_, packed) => {
    expect(measured('pdf', fullPdf(packed)).document).toEqual({
      ...{ pages: 2, pageSizes: ['210 × 297 mm', '210 × 148 mm'], links: 2, fields: 1, comments: 1, headings: 2, pictures: 1 },
      ...{ attachments: 1, language: 'de', title: TITLE },
    });
  });

  it('in OpenDocument what is read in DOCX', () => {
    const spaces = ['office', 'text', 'style', 'fo', 'draw', 'xlink', 'dc'].map((name) => `xmlns:${name}="urn:${name}"`).join(' ');
    const layout =
      '<style:page-layout style:name="L"><style:page-layout-properties fo:page-width="14.8cm" fo:page-height="210mm"/></style:page-layout>';
    const { document } = measured(
      'fodt',
      `<office:document ${spaces}><office:meta><dc:title>${TITLE}</dc:title></office:meta><office:styles><style:default-style><style:text-properties fo:language="de"/></style:default-style></office:styles><office:automatic-styles>${layout}</office:automatic-styles><office:master-styles><style:master-page style:name="Standard" style:page-layout-name="L"/></office:master-styles><office:body><office:text><text:tracked-changes><text:changed-region><text:deletion><text:p>deleted</text:p></text:deletion></text:changed-region></text:tracked-changes><text:h>Be<text:span>gin</text:span></text:h><text:p>words<text:s/>apart<office:annotation><text:p>doubt</text:p></office:annotation><text:note><text:note-body><text:p>footnote</text:p></text:note-body></text:note><text:a xlink:href="${ADDRESS}">there</text:a><draw:image xlink:href="Pictures/a.png"/></text:p></office:text></office:body></office:document>`,
    );
    expect(document?.words?.join(' ')).toBe('begin words apart footnote there');
    expect(document).toMatchObject({
      ...{ pageSizes: ['148 × 210 mm'], headings: 1, links: 1, pictures: 1, footnotes: 1, comments: 1, changes: 1 },
      ...{ language: 'de', title: TITLE },
    });
  });

  it('in DOCX neither what fields fill in nor a language that is none', async () => {
    const run = (inner: string) => `<w:r>${inner}</w:r>`;
    const field = (code: string, result: string) =>
      `${run('<w:fldChar w:fldCharType="begin"/>')}${run(`<w:instrText> ${code} </w:instrText>`)}${run('<w:fldChar w:fldCharType="separate"/>')}${run(`<w:t>${result}</w:t>`)}${run('<w:fldChar w:fldCharType="end"/>')}`;
    const path = await writeZip(join(home, 'fields.docx'), {
      'word/document.xml': `<w:document><w:body><w:p>${field('DATE \\@ "d"', 'monday')}${field('REF a', 'shown ')}<w:fldSimple w:instr=" PAGE "><w:r><w:t>seven</w:t></w:r></w:fldSimple><w:r><w:t>after</w:t></w:r></w:p></w:body></w:document>`,
      'word/styles.xml': '<w:styles><w:lang w:val="x-none"/><w:lang w:val="fr-FR"/></w:styles>',
    });
    expect(measuredAt('docx', path).document).toMatchObject({ words: ['shown', 'after'], language: 'fr' });
  });

  it('in OpenDocument the sizes of the pages that styles begin, and neither dates nor descriptions', () => {
    const layout = (name: string, width: number, height: number) =>
      `<style:page-layout style:name="${name}"><style:page-layout-properties fo:page-width="${width}mm" fo:page-height="${height}mm"/></style:page-layout>`;
    const master = (name: string, of: string) => `<style:master-page style:name="${name}" style:page-layout-name="${of}"/>`;
    const { document } = measured(
      'fodt',
      `<office:document><office:automatic-styles><style:style style:name="P1" style:master-page-name="Wide"/>${layout('L', 210, 297)}${layout('M', 297, 210)}${layout('N', 100, 100)}</office:automatic-styles><office:master-styles>${master('Standard', 'L')}${master('Wide', 'M')}${master('Other', 'N')}</office:master-styles><office:body><office:text><text:p>today <text:date>monday</text:date> on <text:page-number>7</text:page-number></text:p><text:p text:style-name="P1">wide<text:note><text:note-citation>i</text:note-citation></text:note><draw:frame><svg:title>picture</svg:title><svg:desc>of it</svg:desc></draw:frame><field:fieldmark-start field:type="vnd.oasis.opendocument.field.FORMTEXT"/><field:fieldmark field:type="vnd.oasis.opendocument.field.TOC"/></text:p></office:text></office:body></office:document>`,
    );
    expect(document).toMatchObject({
      words: ['today', 'on', 'wide'],
      pageSizes: ['210 × 297 mm', '297 × 210 mm'],
      fields: 1,
      footnotes: 1,
    });
  });

  it('in pages neither what is hidden nor headings without a text', () => {
    const page = `<body><h1></h1><h2><b>Head</b></h2><p hidden>gone <p>shown <div style="color:red; display: none"><div>gone</div><h3>gone</h3></div><span title=" hidden ">there</span><input hidden>end</body>`;
    expect(measured('html', page.replace('<p hidden>gone ', '<p hidden>gone </p>')).document).toMatchObject({
      ...{ words: ['head', 'shown', 'there', 'end'], headings: 1, isStyled: true },
    });
  });

  it('in UTF-16 of both orders, and nothing of what is in no Unicode', () => {
    const wide = Buffer.from('\ufeffgrün', 'utf16le');
    for (const bytes of [wide, Buffer.from(wide).swap16()]) expect(measured('txt', bytes).document?.words).toEqual(['grün']);
    expect(measured('txt', Buffer.from('grün', 'latin1'))).toEqual({});
  });

  it('in a PDF the later of two objects, and the signs of titles', () => {
    const inner = '4 0 <</Title (packed)>>';
    const packed = (text: string) => {
      const bytes = deflateSync(text).toString('latin1');
      return `9 0 obj<</Type/ObjStm/N 1/First 4/Filter/FlateDecode/Length ${bytes.length}>>stream\n${bytes}\nendstream endobj\n`;
    };
    const plain = '4 0 obj<</Title (\\215plain\\216 \\240)>>endobj\n';
    const rest =
      '1 0 obj<</Pages 2 0 R>>endobj 2 0 obj<</Kids[3 0 R]>>endobj 3 0 obj<</Type/Page>>endobj\ntrailer<</Root 1 0 R/Info 4 0 R>>';
    const titleOf = (body: string) => measured('pdf', Buffer.from(`%PDF-1.5\n${body}${rest}`, 'latin1')).document?.title;
    expect([titleOf(packed(inner) + plain), titleOf(plain + packed(inner))]).toEqual(['“plain” €', 'packed']);
  });

  it('in pages and books what a reader sees', async () => {
    const page = `<!DOCTYPE html><html lang="de-AT"><head><title>${TITLE}</title><style>p { color: red }</style></head><body><h1>Head</h1><p>sh<b>own</b> &auml;&#228;<script>not()</script><a href="${ADDRESS}">a</a><a href="#x" role="doc-noteref">1</a><img src="data:image/png;base64,AAAA"><img src="http://example.org/a.png"><input type="text"><select><option>b</option></select></p></body></html>`;
    const { document } = measured('html', page);
    expect(document?.words).toEqual(['head', 'shown', 'auml', 'ä', 'a', '1']);
    expect(document).toMatchObject({ links: 1, headings: 1, footnotes: 1, pictures: 1, fields: 2, language: 'de', title: TITLE });
    const book = await writeZip(join(home, 'a.epub'), {
      mimetype: 'application/epub+zip',
      'META-INF/container.xml': '<container><rootfiles><rootfile full-path="o/b.opf"/></rootfiles></container>',
      'o/b.opf': `<package><metadata><dc:title>${TITLE}</dc:title><dc:language>de</dc:language></metadata><manifest><item id="n" href="n.xhtml" properties="nav"/><item id="c" href="c%201.xhtml"/><item id="p" href="p.png"/></manifest><spine><itemref idref="n"/><itemref idref="c"/></spine></package>`,
      'o/n.xhtml': '<html><body>contents</body></html>',
      'o/c 1.xhtml': '<html><body><h2>Chapter</h2>text</body></html>',
    });
    expect(measuredAt('epub', book).document).toEqual({
      ...{ words: ['chapter', 'text'], isStyled: true, links: 0, pictures: 1, headings: 1, footnotes: 0, language: 'de', title: TITLE },
    });
  });

  it('in Markdown its structure, but not that of code', () => {
    const { document } = measured(
      'md',
      `# One\n\nTwo\n---\n\n- a [link](${ADDRESS}) and <${ADDRESS}/b> and \\_note\\_[^1]\n\n![x](data:image/png;base64,AA)\n![y](a.png)\n\n\`\`\`\n# none\n\`\`\`\n\n[^1]: text\n`,
    );
    expect(document).toMatchObject({ headings: 2, links: 2, pictures: 1, footnotes: 1, isMarkup: true });
    expect(document?.words).toContain('note');
  });

  it('in Markdown neither the fields before it nor what stands in spans of code', () => {
    const { document } = measured('md', `---\ntitle: A\n---\n\n# One\n\n\`x[^1]\` and \`<${ADDRESS}>\` by <anna@example.org>\n`);
    expect(document).toMatchObject({ headings: 1, links: 1, footnotes: 0 });
  });
});

describe('of a table are read', () => {
  it('in XLSX its sheets, the types of its cells, and what is at them', async () => {
    const { table, document } = measuredAt('xlsx', await fullXlsx(join(home, 'full.xlsx')));
    expect(table).toEqual({
      ...{ sheets: 2, hiddenSheets: 1, rows: 2, columns: 4, numbers: 2, dates: 1, truths: 1, formulas: 1, mergedCells: 1 },
      ...{ cellNotes: 1, cellLinks: 1 },
    });
    expect(document).toMatchObject({ words: ['measured', 'values'], title: TITLE });
  });

  it('in OpenDocument the cells up to the last with something in it', () => {
    const cell = (type: string, more = '') => `<table:table-cell office:value-type="${type}"${more}><text:p>1</text:p></table:table-cell>`;
    const { table } = measured(
      'fods',
      `<office:document><office:body><office:spreadsheet><table:table><table:table-row>${cell('float', ' table:number-columns-repeated="2"')}${cell('date')}${cell('boolean', ' table:formula="of:=1"')}<table:table-cell table:number-columns-repeated="16380"/></table:table-row><table:table-row table:number-rows-repeated="3"/><table:table-row>${cell('string', ' table:number-columns-spanned="2"')}</table:table-row><table:table-row table:number-rows-repeated="1048570"><table:table-cell/></table:table-row></table:table></office:spreadsheet></office:body></office:document>`,
    );
    expect(table).toMatchObject({ sheets: 1, rows: 5, columns: 4, numbers: 2, dates: 1, truths: 1, formulas: 1, mergedCells: 1 });
  });

  it('in OpenDocument no text of hidden sheets, dates and booleans', () => {
    const row = (type: string, text: string) =>
      `<table:table-row><table:table-cell office:value-type="${type}"><text:p>${text}</text:p></table:table-cell></table:table-row>`;
    const { table, document } = measured(
      'fods',
      `<office:document><office:automatic-styles><style:style style:name="H"><style:table-properties table:display="false"/></style:style></office:automatic-styles><office:body><office:spreadsheet><table:table table:style-name="H">${row('string', 'hidden')}</table:table><table:table>${row('string', 'shown')}${row('date', 'monday')}${row('boolean', 'TRUE')}${row('float" table:formula="of:=TRUE()', '1')}${row('string', 'after')}</table:table></office:spreadsheet></office:body></office:document>`,
    );
    expect(document?.words).toEqual(['shown', 'after']);
    expect(table).toMatchObject({ sheets: 2, hiddenSheets: 1, rows: 5, truths: 2, numbers: 0 });
  });

  it('in XLSX links that differ, once, and no date in a number that leaves a width', async () => {
    const relations = (target: string) => `<Relationships>${target}</Relationships>`;
    const link = `<Relationship Id="r1" Type="x/hyperlink" Target="${ADDRESS}" TargetMode="External"/>`;
    const cells = '<worksheet><sheetData><row r="1"><c s="0"><v>1</v></c></row></sheetData></worksheet>';
    const path = await writeZip(join(home, 'links.xlsx'), {
      'xl/workbook.xml': '<workbook><sheets><sheet r:id="a"/><sheet r:id="b" state="hidden"/></sheets></workbook>',
      'xl/_rels/workbook.xml.rels': relations('<Relationship Id="a" Target="a.xml"/><Relationship Id="b" Target="b.xml"/>'),
      'xl/styles.xml':
        '<styleSheet><numFmts><numFmt numFmtId="170" formatCode="0_d*m"/></numFmts><cellXfs><xf numFmtId="170"/></cellXfs></styleSheet>',
      ...{ 'xl/a.xml': cells, 'xl/b.xml': cells, 'xl/_rels/a.xml.rels': relations(link), 'xl/_rels/b.xml.rels': relations(link) },
    });
    expect(measuredAt('xlsx', path).table).toMatchObject({ cellLinks: 1, numbers: 2, dates: 0, rows: 1 });
  });

  it('in CSV and TSV rows and columns', () => {
    expect(measured('csv', 'a,b\n"1,\n2",3,\n,,\n').table).toMatchObject({ rows: 2, columns: 2 });
    expect(measured('csv', 'a;b;c\n1,5;2;3\n').table).toMatchObject({ rows: 2, columns: 3 });
    expect(measured('tsv', 'a, b\tc\n').table).toMatchObject({ rows: 1, columns: 2 });
  });
});

it('of an e-mail are read its headers, its text, its files and the pictures in it', () => {
  const part = (head: string, body: string) => `--b\r\n${head}\r\n\r\n${body}\r\n`;
  const { mail, document } = measured(
    'eml',
    `From: =?utf-8?B?${Buffer.from('Änne').toString('base64')}?= <a@example.org>\r\nSubject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\r\n =?utf-8?Q?_all?=\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed;\r\n boundary="b"\r\n\r\n${part('Content-Type: text/html; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable', '<p>sch=F6n <img src=3D"cid:p1">')}${part('Content-Type: image/png\r\nContent-ID: <p1>', 'AAAA')}${part('Content-Type: text/plain\r\nContent-Disposition: attachment; filename=a.txt', 'other')}--b--\r\n`,
  );
  expect(mail).toEqual({
    headers: { from: ['änne', 'a', 'example', 'org'], subject: ['grüße', 'all'] },
    ...{ attachments: 1, inlinePictures: 1 },
  });
  expect(document?.words).toEqual(['schön']);
});

describe('of an archive are read its entries, by programs of others', () => {
  const folder = join(home, 'packed');
  mkdirSync(join(folder, 'inner'), { recursive: true });
  writeFileSync(join(folder, 'run.sh'), '#!/bin/sh\n');
  writeFileSync(join(folder, 'inner', 'a.txt'), 'twelve bytes');
  chmodSync(join(folder, 'run.sh'), 0o755);
  symlinkSync('run.sh', join(folder, 'link'));
  for (const name of ['run.sh', 'inner/a.txt']) utimesSync(join(folder, name), 1_700_000_000, 1_700_000_000);
  const expected = { files: 2, folders: 1, links: 1, programs: 1, bytes: 22, newest: '2023-11-14 22:13:20' };

  it.each([
    ['tar', ['--format=pax']],
    ['tgz', ['--format=pax', '--gzip']],
    ['tzst', ['--format=pax', '--zstd']],
    ['zip', ['--format=zip']],
    ['cpio', ['--format=newc']],
  ] as const)('%s', (format, options) => {
    const path = join(home, `packed.${format}`);
    execFileSync('bsdtar', ['-cf', path, ...options, '-C', folder, 'run.sh', 'link', 'inner'], { env: { ...process.env, TZ: 'UTC' } });
    expect(measuredAt(format, path).archive).toEqual(expected);
  });
});

describe('of a model are read its triangles', () => {
  it.each([
    ['obj', 'v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\nf 1/1 2/2 3/3\n', { triangles: 3, unit: '' }],
    ['off', 'OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n3 0 1 2\n', { triangles: 3 }],
    [
      'ply',
      'ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nelement face 1\nend_header\n0 0 0\n1 0 0\n1 1 0\n3 0 1 2\n',
      { triangles: 1 },
    ],
    [
      'gltf',
      JSON.stringify({
        accessors: [{ count: 6 }],
        meshes: [{ primitives: [{ indices: 0 }] }],
        nodes: [{ mesh: 0 }, { mesh: 0 }],
        ...{ textures: [{}], animations: [{}] },
      }),
      { triangles: 4, textures: 1, animations: 1, unit: 'meter' },
    ],
    [
      'dae',
      '<COLLADA><asset><unit name="inch" meter="0.0254"/></asset><triangles count="2"/><polylist><vcount>4 3</vcount></polylist><image/><animation/><animation/></COLLADA>',
      { triangles: 5, textures: 1, animations: 1, unit: 'inch' },
    ],
  ])('in %s', (format, content, expected) => expect(measured(format, content).model).toMatchObject(expected));
});

it.each(['ttf', 'otf'])('of a font in %s are read its glyphs and names', (format) => {
  const path = join(home, `font.${format}`);
  const script = 'New(); Reencode("unicode"); SetFontNames("Aa-Bold", "Aa", "Aa Bold", "Bold"); Select(65); SetWidth(500); Generate($1)';
  execFileSync('fontforge', ['-lang=ff', '-c', script, path], { stdio: 'ignore' });
  expect(measuredAt(format, path).font).toMatchObject({ family: 'Aa', style: 'Bold', axes: [] });
  expect(measuredAt(format, path).font?.glyphs).toBeGreaterThan(0);
});

describe('nothing is known', () => {
  it.each(['docx', 'pptx', 'xlsx', 'odt', 'ods', 'epub', 'pdf', 'zip', 'tar', 'tgz', 'tzst', 'ttf', 'woff', 'woff2', 'glb', 'gltf', '3mf'])(
    'of a damaged %s, or not all, and the readers end',
    async (format) => {
      for (const bytes of [Buffer.alloc(0), Buffer.alloc(600, 0xff), Buffer.from('PK\x05\x06'), Buffer.alloc(70_000, '<a>')])
        expect(() => measured(format, bytes)).not.toThrow();
      const whole = { docx: () => fullDocx(join(home, 'f.docx')), xlsx: () => fullXlsx(join(home, 'f.xlsx')) }[format];
      const sample = whole === undefined ? fullPdf(true) : readFileSync(await whole());
      for (let cut = 0; cut < sample.length; cut += 211) measured(format, sample.subarray(0, cut));
      for (let at = 0; at < sample.length; at += 211) {
        const changed = Buffer.from(sample);
        changed[at] = (changed[at] ?? 0) ^ 0x55;
        measured(format, changed);
      }
    },
  );

  it('of an encrypted PDF', () => {
    const encrypted = fullPdf().toString('latin1').replace('/Info 16 0 R', '/Encrypt 9 0 R');
    expect(measured('pdf', Buffer.from(encrypted, 'latin1'))).toEqual({});
  });

  it.each([
    ['pdf', '1 0 obj<<'],
    ['pdf', '1 0 obj[('],
    ['pdf', '1 0 obj endobj trailer<<'],
    ['html', '<a b="'],
    ['html', '<!-- <'],
    ['html', '<select><head>'],
    ['md', '[a](http:'],
    ['csv', '"'],
    ['eml', 'a: =?b?q?'],
    ['eml', '\r\n--b\r\n'],
    ['dae', '<vcount>1 '],
    ['obj', 'f '],
  ])('soon, however often %s has %j', (format, mark) => {
    const times = [1 << 17, 1 << 20].map((bytes) => {
      const started = performance.now();
      measured(format, mark.repeat(bytes / mark.length));
      return performance.now() - started;
    }) as [number, number];
    // Eight times the bytes.
    expect(times[1]).toBeLessThan(Math.max(400, 8 * 4 * times[0]));
  });
});

describe('words', () => {
  it('are compared as a reader sees them', () => {
    expect(distinctWords('ﬁne Straße, 12\u00ad345 日本')).toEqual(['fine', 'straße', '12345', '日', '本']);
    expect(foundWords(['donaudampf', 'schiff'], ['donau', 'dampf', 'schiff'])).toBe(2);
    expect(foundWords(['lost', 'words'], ['words', 'of', 'others'])).toBe(1);
    expect(distinctWords('Office\u65e5\u672c re\u0301sume\u0301')).toEqual(['office', '\u65e5', '\u672c', 'r\u00e9sum\u00e9']);
    expect(joinedWords('Donau-\r\n  dampf and so -\non')).toEqual(['donaudampf']);
    expect(foundWords(['donaudampf', 'so'], ['so', 'donau', 'and', 'dampf'], ['donaudampf'])).toBe(2);
  });

  it('that are cut in many places are not lost, and gone ones are', () => {
    const word = (at: number) => `begin${'abcdefghij'[at % 10]}${'abcdefghij'[Math.floor(at / 10) % 10]}rest`;
    const all = Array.from({ length: 100 }, (_, at) => word(at));
    const cut = all.flatMap((each) => [each.slice(0, 6), each.slice(6)]);
    expect(foundWords(all, cut)).toBe(100);
    expect(foundWords(all, ['others'])).toBe(0);
  });

  it('are compared as far as the result was read', () => {
    const words = Array.from({ length: 100 }, (_, at) => `w${'abcdefghij'[at % 10]}${'abcdefghij'[Math.floor(at / 10)]}`);
    const read = { pages: 60, words: words.slice(0, 40) };
    expect(documentVerdict('text', 'pdf', { words }, read)).toEqual({ property: 'text', outcome: 'kept', source: '20 words' });
    expect(documentVerdict('text', 'pdf', { words }, { ...read, pages: 20 })?.outcome).toBe('lost');
  });
});

const documentVerdict = (property: string, target: string, source: object, result: object, options = {}) =>
  receiptOf({ contents: { document: source } }, { contents: { document: result } }, options, target)?.find(
    (verdict) => verdict.property === property,
  );

describe('a receipt says', () => {
  it.each([
    ['of words that are all there that they are kept', 'text', 'pdf', { words: ['a', 'b'] }, { words: ['b', 'a', 'c'] }, {}, 'kept'],
    ['of a word that is gone that it is lost', 'text', 'md', { words: ['text', 'box'] }, { words: ['text'] }, {}, 'lost'],
    ['of a date that another day has made another', 'text', 'pdf', { words: [...'abcdefgh'] }, { words: [...'abcdef'] }, {}, 'kept'],
    ['of three words of eight', 'text', 'pdf', { words: [...'abcdefgh'] }, { words: [...'abcde'] }, {}, 'lost'],
    ['of the marks of a source', 'text', 'docx', { words: ['http', 'a'], isMarkup: true }, { words: ['a'] }, {}, 'unknown'],
    [
      'of a printed page whose styles may hide a text',
      'text',
      'pdf',
      { words: ['a'], isStyled: true },
      { words: [], pages: 1 },
      {},
      'unknown',
    ],
    ['of the same page as a text', 'text', 'txt', { words: ['a'], isStyled: true }, { words: [] }, {}, 'lost'],
    ['of words outside of the sheet that was asked for', 'text', 'csv', { words: ['a'] }, { words: [] }, { worksheet: '2' }, 'asAsked'],
    ['of words that were not read that it does not know', 'text', 'pdf', { words: ['a'] }, { pages: 1 }, {}, 'unknown'],
    ['of links that Markdown can have that they are lost', 'links', 'md', { links: 2 }, { links: 0 }, {}, 'lost'],
    ['of links in a plain text that they were adapted', 'links', 'txt', { links: 2 }, {}, {}, 'adapted'],
    ['of more links that nothing is lost', 'links', 'pdf', { links: 2 }, { links: 3 }, {}, 'kept'],
    ['of pages that were asked for', 'pages', 'pdf', { pages: 3 }, { pages: 1 }, { pages: [[1, 1]] }, 'asAsked'],
    ['of slides that are gone', 'pages', 'pdf', { pages: 3 }, { pages: 2 }, {}, 'lost'],
    ['of landscape on upright pages', 'page_size', 'docx', { pageSizes: ['297 × 210 mm'] }, { pageSizes: ['210 × 297 mm'] }, {}, 'lost'],
    [
      'of Letter in millimetres that it is kept',
      'page_size',
      'pdf',
      { pageSizes: ['216 × 279 mm'] },
      { pageSizes: ['215 × 279 mm'] },
      {},
      'kept',
    ],
    ['of comments in a PDF/A', 'comments', 'pdf', { comments: 1 }, { comments: 0 }, { pdfa: '2b' }, 'asAsked'],
    ['of speaker notes that a PDF has no room for', 'speaker_notes', 'pdf', { speakerNotes: 1 }, {}, {}, 'adapted'],
    ['of hidden slides that a PDF has no room for', 'hidden_slides', 'pdf', { hiddenSlides: 1 }, {}, {}, 'adapted'],
    ['of fields that can no longer be filled in', 'form_fields', 'pdf', { fields: 1 }, { fields: 0 }, {}, 'lost'],
    ['of changes that are no longer tracked', 'tracked_changes', 'odt', { changes: 2 }, { changes: 0 }, {}, 'lost'],
    ['of headings without an outline', 'outline', 'pdf', { headings: 2 }, { headings: 0 }, {}, 'lost'],
    ['of footnotes', 'footnotes', 'epub', { footnotes: 2 }, { footnotes: 0 }, {}, 'lost'],
    ['of pictures', 'pictures', 'html', { pictures: 2 }, { pictures: 0 }, {}, 'lost'],
    [
      'of pictures that are stored in another way that it does not know',
      'pictures',
      'pdf',
      { pictures: 2 },
      { pictures: 1 },
      {},
      'unknown',
    ],
    ['of files in a PDF', 'attached_files', 'pdf', { attachments: 1 }, { attachments: 0 }, {}, 'lost'],
    ['of a language that no longer is stated', 'language', 'html', { language: 'de' }, { language: '' }, {}, 'lost'],
    ['of a title', 'title', 'pdf', { title: 'A' }, { title: 'Untitled' }, {}, 'lost'],
  ] as const)('%s', (_, property, target, source, result, options, outcome) => {
    expect(documentVerdict(property, target, source, result, options)?.outcome).toBe(outcome);
  });

  it('of the sound track that was asked for', () => {
    const stream = { codec: 'aac', rate: 48_000, channels: 6, bits: 16, float: false, lossless: false, bitrate: undefined };
    const media = {
      ...{ duration: 1, video: [], subtitles: [], covers: [], others: 0, attachments: [], tags: [], chapters: 0, marks: [] },
    };
    const source = { media: { ...media, audio: [stream, { ...stream, channels: 2 }] } };
    const result = { media: { ...media, audio: [{ ...stream, channels: 2 }] } };
    for (const [options, target] of [
      [{ track: 2 }, 'm4a'],
      [{ audio_track: 2 }, 'm4a'],
      [{ audio_track: 2 }, 'mp4'],
    ] as const)
      expect(receiptOf(source, result, options, target)?.filter(({ outcome }) => outcome === 'lost')).toEqual([]);
    expect(receiptOf(source, result, { audio_track: 2 }, 'mp4')).toContainEqual({
      ...{ property: 'sound_tracks', outcome: 'asAsked', source: '2', result: '1' },
    });
    expect(receiptOf(source, result, {}, 'mp4')).toContainEqual({ property: 'channels', outcome: 'lost', source: '6', result: '2' });
  });

  it('of tables what became of their cells', () => {
    const table = { sheets: 1, hiddenSheets: 1, rows: 2, columns: 2, numbers: 3, dates: 1, truths: 1, formulas: 1, mergedCells: 1 };
    const source = { contents: { table: { ...table, cellNotes: 1, cellLinks: 1 }, document: { words: ['a'], links: 1 } } };
    const result = { contents: { table: { sheets: 1, hiddenSheets: 0, rows: 2, columns: 1 }, document: { words: ['a'] } } };
    const verdicts = receiptOf(source, result, {}, 'csv') ?? [];
    expect(Object.fromEntries(verdicts.map(({ property, outcome }) => [property, outcome]))).toEqual({
      ...{ sheets: 'kept', hidden_sheets: 'adapted', rows: 'kept', columns: 'lost', numbers: 'adapted', dates: 'adapted' },
      ...{
        true_false: 'adapted',
        formulas: 'adapted',
        merged_cells: 'adapted',
        cell_notes: 'adapted',
        cell_links: 'adapted',
        text: 'kept',
      },
    });
  });

  it('of an e-mail whether its headers are in the text', () => {
    const mail = { headers: { from: ['anna'], subject: ['hello'] }, attachments: 1, inlinePictures: 1 };
    const source = { contents: { mail, document: { words: ['hello'] } } };
    const html = { contents: { document: { words: ['hello'], pictures: 1 } } };
    expect(receiptOf(source, html, {}, 'html')).toEqual([
      { property: 'headers', outcome: 'lost', source: 'from, subject', result: 'subject' },
      { property: 'text', outcome: 'kept', source: '1 words' },
      { property: 'attached_files', outcome: 'adapted', source: '1' },
      { property: 'inline_pictures', outcome: 'kept', source: '1' },
    ]);
  });

  it('of pictures in an e-mail that some are missing only where all are', () => {
    const source = { contents: { mail: { headers: {}, attachments: 0, inlinePictures: 2 }, document: { words: ['a'] } } };
    const outcome = (pictures: number) =>
      receiptOf(source, { contents: { document: { words: ['a'], pictures } } }, {}, 'html')?.find(
        ({ property }) => property === 'inline_pictures',
      )?.outcome;
    expect([outcome(2), outcome(1), outcome(0)]).toEqual(['kept', 'unknown', 'lost']);
  });

  it('of an archive, a font and a model what is not the same', () => {
    const archive = { files: 2, folders: 1, links: 1, newest: '2024-01-01 10:00:01', programs: 1, bytes: 9 };
    const other = { ...archive, links: 0, newest: '2024-01-01 11:00:00', programs: 0 };
    const outcomes = (kind: string, source: object, result: object, target: string) =>
      (receiptOf({ contents: { [kind]: source } }, { contents: { [kind]: result } }, {}, target) ?? []).flatMap(({ property, outcome }) =>
        outcome === 'kept' ? [] : [`${property} ${outcome}`],
      );
    expect(outcomes('archive', archive, other, 'zip')).toEqual(['times unknown', 'permissions lost', 'archive_links adapted']);
    expect(outcomes('archive', archive, { ...archive, files: 1, folders: 0, bytes: 4 }, 'tar')).toEqual([
      'files lost',
      'file_bytes lost',
      'folders lost',
    ]);
    const font = { glyphs: 9, axes: ['wght 100 to 900'], family: 'A', style: 'B', layout: true, colours: true };
    expect(outcomes('font', font, { glyphs: 8, axes: [], family: 'C', style: 'D', layout: false, colours: false }, 'ttf')).toEqual(
      ['glyphs', 'axes', 'font_family', 'font_style', 'kerning', 'colour_glyphs'].map((name) => `${name} lost`),
    );
    const model = { triangles: 9, textures: 1, animations: 1, unit: 'inch' };
    expect(outcomes('model', model, { triangles: 8, textures: 0, animations: 0, unit: '' }, 'stl')).toEqual([
      'triangles lost',
      'textures adapted',
      'animations adapted',
      'unit adapted',
    ]);
    expect(outcomes('model', model, { ...model, unit: 'meter' }, 'glb')).toEqual(['unit unknown']);
  });

  it.each([
    [
      'docx',
      'txt',
      ['page_size', 'links', 'outline', 'form_fields', 'pictures', 'footnotes', 'comments', 'tracked_changes', 'language', 'title'],
    ],
    ['pptx', 'pdf', ['speaker_notes', 'hidden_slides']],
    ['glb', 'stl', ['textures', 'animations', 'unit']],
    ['zip', 'tar', ['archive_links']],
    ['eml', 'html', ['attached_files']],
    ['mp3', 'txt', []],
  ])('before a conversion from %s what a %s has no room for', (from, to, names) => {
    expect(propertiesWithoutRoom(from, to)).toEqual(expect.arrayContaining(names));
  });

  const words = Array.from({ length: 20 }, (_, at) => `w${'abcdefghij'[at % 10]}${'abcdefghij'[Math.floor(at / 10)]}`);
  const zip = { files: 2, folders: 0, links: 0, newest: '', programs: 0, bytes: 9 };
  const font = { glyphs: 9, axes: [], family: '', style: '', layout: false, colours: false };
  const PAGE_2: Options = { pages: [[2, 2]] };
  const BROKEN: readonly [what: string, source: object, result: object, target: string, broken: readonly string[], options?: Options][] = [
    ['a text without a word', { document: { words } }, { document: { words: [] } }, 'txt', ['text']],
    ['an archive without a file', { archive: zip }, { archive: { ...zip, files: 0, bytes: 0 } }, 'tar', ['files']],
    ['a font without a glyph', { font }, { font: { ...font, glyphs: 0 } }, 'ttf', ['glyphs']],
    ['a text that an option leaves out', { document: { words } }, { document: { words: [] } }, 'txt', [], PAGE_2],
    ['a text with a word', { document: { words } }, { document: { words: ['other'] } }, 'txt', []],
    ['a few words', { document: { words: words.slice(0, 19) } }, { document: { words: [] } }, 'txt', []],
    ['words as pictures', { document: { words } }, { document: { words: [], pictures: 1 } }, 'docx', []],
    ['words that a page prints as signs', { document: { words } }, { document: { words: [], pages: 1 } }, 'pdf', []],
    ['words under a scan', { document: { words, pages: 1 } }, { document: { words: [] } }, 'docx', []],
    ['words that a style hides', { document: { words, hasHiding: true } }, { document: { words: [] } }, 'txt', []],
    ['words of hidden rows', { table: { rows: 2 }, document: { words } }, { table: { rows: 0 }, document: { words: [] } }, 'csv', []],
    ['an archive with fewer files', { archive: zip }, { archive: { ...zip, files: 1 } }, 'tar', []],
  ];
  it.each(BROKEN)('of %s whether only the conversion can be at fault', (_, source, result, target, broken, options = {}) => {
    const verdicts = receiptOf({ contents: source }, { contents: result }, options, target) ?? [];
    expect(verdicts.flatMap(({ property, isBroken }) => (isBroken ? [property] : []))).toEqual(broken);
  });

  it('nothing where kinds differ', () => {
    expect([areCompared('docx', 'pdf'), areCompared('eml', 'zip'), areCompared('docx', 'png'), areCompared('ttf', 'stl')]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(receiptOf({ contents: { font: {} } }, { contents: { document: {} } }, {}, 'txt')).toBeUndefined();
  });
});
