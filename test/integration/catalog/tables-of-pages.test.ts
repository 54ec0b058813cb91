/** Tables of web pages and of PDFs as sheets: the one that a request names, cell by cell, or a refusal that says why not. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pdf, placedPdf } from '../../kit/fixtures/documents/pdf.ts';
import { convert } from '../../kit/roles/service.ts';
import { conversionGround } from './ground.ts';

const ground = conversionGround('tables-of-pages');

async function written(name: string, content: string | Buffer): Promise<string> {
  const path = join(await ground.aFolder(), name);
  await writeFile(path, content);
  return path;
}

const PAGE = `<!doctype html><title>Sums</title><p>Words that stand outside of all tables.</p>
<table><caption>Birds &amp; stones</caption><tr><th colspan=2>Name</th><th>Count</th></tr><tr><td rowspan=2>kestrel, "big"</td><td>grey</td><td>12</td></tr><tr><td>Ελληνικά</td><td>007</td></tr></table>
<ul><li>an item <table><tr><td>in a list</td><td>7</td></tr></table></ul>
<table><tr><td><table><tr><td>inner</td><td>9</td></tr></table></td></tr></table>`;
const FIRST = 'Name,,Count\n"kestrel, ""big""",grey,12\n,Ελληνικά,007\n';

const row = (y: number, ...cells: readonly string[]) => cells.map((text, at) => ({ text, size: 12, x: 72 + 150 * at, y }));
/** A table over two pages, which repeats its head, and another one behind words. */
const PRINTED = placedPdf([
  [
    { text: 'A sentence above the table, longer than what its cells have.', size: 12, x: 72, y: 780 },
    ...row(740, 'Name', 'Count'),
    ...row(724, 'kestrel', '12'),
  ],
  [
    ...row(780, 'Name', 'Count'),
    ...row(764, 'marble', '34'),
    { text: 'A sentence below the table, longer than what its cells have.', size: 12, x: 72, y: 700 },
    ...row(640, 'Town', 'Code'),
    ...row(624, 'Ely', '56'),
  ],
]);

describe('tables of a web page', () => {
  it('become CSV and TSV, each cell in its column, and say that there are more', async () => {
    const { path, job } = await ground.to(await written('a.html', PAGE), 'csv');
    expect(await readFile(path, 'utf8')).toBe(FIRST);
    expect(job.warnings.find(({ code }) => code === 'tables_left_out')?.message).toMatch(/has 3 tables/);
    const text = await readFile((await ground.to(await written('a.html', PAGE), 'tsv')).path, 'utf8');
    expect(text.split('\n')[2]).toBe('\tΕλληνικά\t007');
  });

  it.each([
    ['2', 'in a list,7\n'],
    ['3', 'inner,9\n'],
    ['Birds & stones', FIRST],
  ])('are chosen by number or caption: %s', async (worksheet, text) => {
    const { path, job } = await ground.to(await written('a.html', PAGE), 'csv', { worksheet });
    expect(await readFile(path, 'utf8')).toBe(text);
    expect(job.warnings.map(({ code }) => code)).not.toContain('tables_left_out');
  });

  const OPEN = `<!doctype html><title>Open</title><p>First<ul><li>one<li>two</ul>
<table><caption>Stones<thead><tr><th>Name<th>Count<tbody><tr><td>marble<td>12<tr><td>slate<td><form>7<input name=a></form></table>
<table><col><tr><td rowspan=2>grey<td>Ely<tr><td>York<td>left over</table><p>Last`;

  it('leave out end tags as HTML allows, and are the same tables as with them', async () => {
    const page = await written('open.html', OPEN);
    expect(await readFile((await ground.to(page, 'csv', { worksheet: 'Stones' })).path, 'utf8')).toBe('Name,Count\nmarble,12\nslate,7\n');
    expect(await readFile((await ground.to(page, 'csv', { worksheet: '2' })).path, 'utf8')).toBe('grey,Ely,\n,York,left over\n');
    const markdown = await readFile((await ground.to(page, 'md')).path, 'utf8');
    expect(markdown.replace(/ +/g, ' ').split('\n')).toEqual(
      expect.arrayContaining(['| Name | Count |', '| marble | 12 |', '| slate | 7 |', 'Last']),
    );
    const blocks = JSON.parse(await readFile((await ground.to(page, 'json')).path, 'utf8')).blocks as { type: string; rows?: unknown[] }[];
    expect(blocks.map(({ type, rows }) => [type, rows?.length])).toEqual([
      ...[
        ['paragraph', undefined],
        ['list', undefined],
      ],
      ...[
        ['table', 3],
        ['table', 2],
        ['paragraph', undefined],
      ],
    ]);
  });

  it('are kept where one with data is around another', async () => {
    const page = '<table><tr><td>Name<td>Parts<tr><td>clock<td>two: <table><tr><td>hand<td>9</table></table>';
    const { path, job } = await ground.to(await written('nested.html', page), 'csv');
    expect((await readFile(path, 'utf8')).replace(/\s+/g, ' ')).toBe('Name,Parts clock,"two: hand 9" ');
    expect(job.warnings.find(({ code }) => code === 'tables_left_out')?.message).toMatch(/has 2 tables/);
  });

  it('become a sheet, with numbers where all of a column are', async () => {
    const page = '<table><tr><td>Name</td><td>Share</td></tr><tr><td>a</td><td>12.5</td></tr><tr><td>b</td><td>7</td></tr></table>';
    const between = (await ground.to(await written('a.html', page), 'xlsx')).path;
    const { path } = await ground.to(between, 'json');
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual([
      { Name: 'a', Share: 12.5 },
      { Name: 'b', Share: 7 },
    ]);
  });

  it('become a sheet cell by cell where all cells have what other tables are separated by', async () => {
    const page = '<table><tr><td>a;b;c</td><td>d|e, f</td></tr><tr><td>1;2;3</td><td>4|5, 6</td></tr></table>';
    const between = (await ground.to(await written('a.html', page), 'xlsx')).path;
    expect(await readFile((await ground.to(between, 'tsv')).path, 'utf8')).toBe('a;b;c\td|e, f\n1;2;3\t4|5, 6\n');
  });

  it('are refused where there is none, or not this one', async () => {
    const none = await convert(ground.url, await written('a.html', '<p>Words.</p>'), 'xlsx');
    expect([none.error?.code, none.error?.details['reason'], none.error?.message]).toEqual([
      'CONVERSION_FAILED',
      'unsupported_variant',
      'The document has no table.',
    ]);
    const { status, error } = await convert(ground.url, await written('a.html', PAGE), 'csv', { worksheet: '4' });
    expect([status, error?.code, error?.details]).toMatchObject([
      400,
      'INVALID_OPTION',
      { option: 'worksheet', received: '4', allowed: '1 to 3, or a caption' },
    ]);
  });
});

describe('tables of a PDF', () => {
  it('are one where they go on at the top of the next page', async () => {
    const { path, job } = await ground.to(await written('a.pdf', PRINTED), 'csv');
    expect(await readFile(path, 'utf8')).toBe('Name,Count\nkestrel,12\nmarble,34\n');
    expect(job.warnings.find(({ code }) => code === 'tables_left_out')?.message).toMatch(/has 2 tables/);
  });

  it('are chosen by number, and from pages that are asked for', async () => {
    const second = await ground.to(await written('a.pdf', PRINTED), 'csv', { worksheet: '2' });
    expect(await readFile(second.path, 'utf8')).toBe('Town,Code\nEly,56\n');
    const { path } = await ground.to(await written('a.pdf', PRINTED), 'csv', { pages: '2' });
    expect(await readFile(path, 'utf8')).toBe('Name,Count\nmarble,34\n');
  });

  it('are refused where there is none', async () => {
    const { error } = await convert(ground.url, await written('a.pdf', pdf([['only words']])), 'ods');
    expect([error?.details['reason'], error?.message]).toEqual(['unsupported_variant', 'The document has no table.']);
  });
});
