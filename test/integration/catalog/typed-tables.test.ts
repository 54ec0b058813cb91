/**
 * Cells of sheets keep their types on the way to data: numbers their digits, and dates, times and durations the form of ISO 8601. What is drawn on a
 * sheet comes with it where the target has room for it, and is said to be lost where not.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { unzip } from '../../kit/judges/documents/text.ts';
import { conversionGround } from './ground.ts';

const ground = conversionGround('typed-tables');

const OASIS = 'urn:oasis:names:tc:opendocument:xmlns';
const NAMESPACES = [
  ...['office', 'table', 'text', 'style'].map((name) => `xmlns:${name}="${OASIS}:${name}:1.0"`),
  `xmlns:number="${OASIS}:datastyle:1.0"`,
  'xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2"',
].join(' ');
const clock = '<number:hours number:style="long"/><number:text>:</number:text><number:minutes number:style="long"/>';
const STYLES = Object.entries({
  flag: '<number:boolean-style style:name="n-flag"><number:boolean/></number:boolean-style>',
  time: `<number:time-style style:name="n-time">${clock}<number:text> </number:text><number:am-pm/></number:time-style>`,
  length: `<number:time-style style:name="n-length" number:truncate-on-overflow="false">${clock}</number:time-style>`,
  day: '<number:date-style style:name="n-day"><number:day/><number:text>.</number:text><number:month/><number:text>.</number:text><number:year/></number:date-style>',
  share:
    '<number:percentage-style style:name="n-share"><number:number number:decimal-places="0" number:min-integer-digits="1"/><number:text>%</number:text></number:percentage-style>',
})
  .map(([name, style]) => `${style}<style:style style:name="${name}" style:family="table-cell" style:data-style-name="n-${name}"/>`)
  .join('');
const text = (words: string) => `<table:table-cell office:value-type="string"><text:p>${words}</text:p></table:table-cell>`;
const typed = (style: string, type: string, value: string) =>
  `<table:table-cell table:style-name="${style}" office:value-type="${type}" office:${type === 'float' || type === 'percentage' ? '' : `${type}-`}value="${value}"/>`;
const COLUMNS = ['flag', 'third', 'whole', 'time', 'day', 'length', 'share', 'code', 'none'];
const row = (...cells: readonly string[]) => `<table:table-row>${cells.join('')}</table:table-row>`;
const SHEET = `<?xml version="1.0" encoding="UTF-8"?>
<office:document ${NAMESPACES} office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.spreadsheet">
<office:automatic-styles>${STYLES}</office:automatic-styles><office:body><office:spreadsheet><table:table table:name="One">${row(...COLUMNS.map(text))}${row(
  typed('flag', 'boolean', 'true'),
  `<table:table-cell table:formula="of:=1/3" office:value-type="float" office:value="0.333333333333333"/>`,
  typed('', 'float', '12'),
  typed('time', 'time', 'PT14H40M00S'),
  typed('day', 'date', '2024-05-17'),
  typed('length', 'time', 'PT12H15M00S'),
  typed('share', 'percentage', '0.125'),
  text('007'),
)}${row(typed('flag', 'boolean', 'false'), typed('', 'float', '-2.5'), '<table:table-cell/>', typed('time', 'time', 'PT00H00M30S'), '<table:table-cell/>', typed('length', 'time', 'PT36H00M00S'))}
</table:table></office:spreadsheet></office:body></office:document>`;

it.each(['xlsx', 'xls', 'ods'])('of %s', async (source) => {
  const path = join(await ground.aFolder(), 'a.fods');
  await writeFile(path, SHEET);
  const sheet = source === 'fods' ? path : (await ground.to(path, source)).path;
  const [first, second] = JSON.parse(await readFile((await ground.to(sheet, 'json')).path, 'utf8')) as Record<string, unknown>[];
  expect(first).toEqual({
    // LibreOffice writes 15 digits into XLSX.
    ...{ flag: true, third: source === 'xlsx' ? expect.closeTo(1 / 3, 14) : 1 / 3, whole: 12, time: '14:40:00', day: '2024-05-17' },
    ...{ length: 'PT12H15M', share: 0.125, code: '007', none: null },
  });
  expect(second).toMatchObject({ flag: false, third: -2.5, whole: null, time: '00:00:30', day: null, length: 'PT36H', code: null });
});

const RECORDS = [
  {
    code: '007',
    flag: true,
    share: 1.5,
    large: 12345678901234567890n,
    day: '2024-01-02',
    sum: '=1+1',
    text: ' two  spaces\tand <a & b>\nmore',
  },
  { code: '10', flag: false, share: 2, large: 3, day: 'none', sum: 'true', text: null },
];
const asJson = (records: object) => JSON.stringify(records, (_, each) => (typeof each === 'bigint' ? JSON.rawJSON(String(each)) : each));

it.each(['xlsx', 'ods'])('values of JSON are cells with their types in %s', async (target) => {
  const path = join(await ground.aFolder(), 'a.json');
  await writeFile(path, asJson(RECORDS));
  const { path: sheet, job } = await ground.to(path, target);
  expect(job.warnings).toEqual([]);
  const back = JSON.parse(await readFile((await ground.to(sheet, 'json')).path, 'utf8'));
  expect(back).toEqual([{ ...RECORDS[0], large: '12345678901234567890', text: ' two  spaces and <a & b>\nmore' }, RECORDS[1]]);
});

it('numbers of XML, which has texts alone, are numbers where all of a column look the same as one', async () => {
  const path = join(await ground.aFolder(), 'a.xml');
  await writeFile(path, '<rows><row><n>1.5</n><code>007</code></row><row><n>-2</n><code>12</code></row></rows>');
  const back = JSON.parse(await readFile((await ground.to((await ground.to(path, 'ods')).path, 'json')).path, 'utf8'));
  expect(back).toEqual([
    { n: 1.5, code: '007' },
    { n: -2, code: '12' },
  ]);
});

it('more columns than a sheet has are refused', async () => {
  const path = join(await ground.aFolder(), 'wide.json');
  await writeFile(path, JSON.stringify([Object.fromEntries(Array.from({ length: 16_385 }, (_, at) => [`k${at}`, at]))]));
  await expect(ground.to(path, 'xlsx')).rejects.toThrow(/columns of a sheet/);
});

/** A red square over the second cell. */
const drawn = async () => {
  const red = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#f00' } })
    .png()
    .toBuffer();
  return SHEET.replace('xmlns:of=', `xmlns:draw="${OASIS}:drawing:1.0" xmlns:svg="${OASIS}:svg-compatible:1.0" xmlns:of=`).replace(
    '<table:table-cell office:value-type="string"><text:p>flag</text:p>',
    `<table:table-cell office:value-type="string"><draw:frame svg:width="2cm" svg:height="2cm" svg:x="3cm" svg:y="0cm"><draw:image><office:binary-data>${red.toString('base64')}</office:binary-data></draw:image></draw:frame><text:p>flag</text:p>`,
  );
};

it.each(['xlsx', 'ods', 'xls'])('a picture on a sheet of %s comes with its cells, or is said to be lost', async (source) => {
  const path = join(await ground.aFolder(), 'a.fods');
  await writeFile(path, await drawn());
  const sheet = (await ground.to(path, source)).path;
  const page = await readFile((await ground.to(sheet, 'html')).path, 'utf8');
  for (const word of COLUMNS) expect(page).toContain(word);
  const [, picture = ''] = /src="data:image\/png;base64,([^"]+)"/.exec(page) ?? [];
  const { channels } = await sharp(Buffer.from(picture, 'base64')).stats();
  // Its edge may be blended with white.
  expect(channels.slice(0, 3).map(({ mean }) => (mean > 240 ? 'all' : mean < 15 ? 'none' : mean))).toEqual(['all', 'none', 'none']);
  const parts = await unzip(await readFile((await ground.to(sheet, 'docx')).path));
  expect([...parts.keys()].filter((name) => name.startsWith('word/media/'))).toHaveLength(1);
  const { job } = await ground.to(sheet, 'json');
  expect(job.warnings.map(({ message }) => message).join(' ')).toContain('drawn on the sheets: one picture');
});

it('has links and notes of cells in Markdown', async () => {
  const note = '<office:annotation office:display="false"><text:p>Counted twice | by hand</text:p></office:annotation>';
  const link = '<text:a xlink:href="https://example.org/a(b)" xlink:type="simple">a | page</text:a>';
  const cell = (inside: string) => `<table:table-cell office:value-type="string">${inside}</table:table-cell>`;
  const empty = row('<table:table-cell/>');
  const marked = [row(text('name'), text('count')), empty, row(cell(`${note}<text:p>see ${link}</text:p>`), typed('none', 'float', '7'))];
  const content = SHEET.replace('<office:document ', '<office:document xmlns:xlink="http://www.w3.org/1999/xlink" ').replace(
    /<table:table-row>.*<\/table:table-row>/s,
    marked.join(''),
  );
  const path = join(await ground.aFolder(), 'marked.fods');
  await writeFile(path, content);
  // In XLSX, a link is that of its cell.
  const sources = [
    [path, '| see [a \\| page](https://example.org/a%28b%29)[^1] |'],
    [(await ground.to(path, 'xlsx')).path, '| [see a \\| page](https://example.org/a%28b%29)[^1] |'],
  ] as const;
  for (const [source, linked] of sources) {
    const { path: made } = await ground.to(source, 'md');
    const found = await readFile(made, 'utf8');
    expect(found).toMatch(/^\| name \| count \|\n\| --- \| ---: \|\n\| .*\[\^1\] \| 7 \|\n\n\[\^1\]: Counted twice \\\| by hand\n$/);
    expect(found).toContain(linked);
  }
});
