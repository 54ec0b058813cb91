/** What the tags of a document count as, however the text is cut. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  markupCounter,
  NOTHING,
  rtfCounter,
  type TagCounts,
  type TextCounter,
} from '../../../../src/exec/programs/documents/count/counters.ts';
import { TableTags } from '../../../../src/exec/programs/documents/count/tables.ts';
import { drawnBy } from '../../../../src/exec/programs/pdf/measure/forms.ts';

const countsOf = (counter: TextCounter, text: string, piece = text.length): TagCounts => {
  for (let at = 0; at < text.length; at += piece) counter.add(text.slice(at, at + piece));
  return counter.counts();
};

describe('tags', () => {
  const CASES: readonly (readonly [what: string, text: string, counts: Partial<TagCounts>])[] = [
    ['tables of Word', '<w:tbl><w:tr><w:tc><w:tbl><w:tr><w:tc/></w:tr></w:tbl></w:tc></w:tr></w:tbl>', { depth: 2, cells: 2 }],
    ['tables one after the other', '<table><tr><td></table><table><tr><td></table>', { depth: 1, cells: 2 }],
    ['HTML without closing tags, in capitals', '<TABLE><TR><TD>a<TH>b<TR><TD>c', { depth: 1, cells: 3 }],
    ['another prefix, and none', '<x:tbl><tc/></x:tbl>', { depth: 1, cells: 1 }],
    [
      'repeated cells of repeated rows',
      '<t:table><t:table-row t:number-rows-repeated="10"><t:table-cell t:number-columns-repeated=\'7\'/></t:table-row></t:table>',
      { depth: 1, cells: 70 },
    ],
    [
      'what repeats without end',
      '<table><table-row number-rows-repeated="999999999999999999"><table-cell number-columns-repeated="999999999999"/></table-row></table>',
      { depth: 1, cells: 1e12 },
    ],
    ['insertions', '<w:altChunk r:id="a"/><w:altChunk r:id="a"></w:altChunk>', { chunks: 2 }],
    ['bookmarks', '<w:bookmarkStart w:id="1"/><w:bookmarkEnd w:id="1"/><text:bookmark-start/><text:bookmark/>', { bookmarks: 3 }],
    ['paragraphs and headings', '<w:p><w:pPr/></w:p><text:h>a</text:h><text:p/><w:pict/>', { paragraphs: 3 }],
    ['names that only begin alike', '<tblGrid><table-column><tcPr><bookmarks>', {}],
    ['closing tags without opening ones', '</table></tr></table><table><td>', { depth: 1, cells: 1 }],
  ];

  it.each(CASES)('%s', (_, text, counts) => {
    for (const piece of [text.length, 7, 1]) expect(countsOf(markupCounter(), text, piece)).toEqual({ ...NOTHING, ...counts });
  });

  it('cost no more than their length, however they are left open', () => {
    for (const text of ['<', '<a', '<a ', '<a:', 'a<b:c ', '<table '.repeat(3), '<'.repeat(64) + 'x'.repeat(64)]) {
      const began = performance.now();
      countsOf(markupCounter(), text.repeat(Math.ceil(2_000_000 / text.length)), 1 << 18);
      countsOf(markupCounter(), `<a ${'x'.repeat(2_000_000)}`, 1 << 18);
      expect(performance.now() - began).toBeLessThan(2_000);
    }
  });
});

describe('tables that Pandoc does not read as they stand', () => {
  it.each([
    ['whose cells leave out their end tags', '<table><tr><td>a<td>b</table>', true],
    ['whose rows do', '<table><tr><td>a</td><tr><td>b</td></tr></table>', true],
    ['that do not end', '<TABLE><tr><td>a</td></tr>', true],
    ['without rows', '<table><td>a</td></table>', true],
    ['with a stray end tag', '<table><tr><td>a</td></td></tr></table>', true],
    ['with a form around the rows', '<table><form><tr><td>a</td></tr></form></table>', true],
    ['with words between the rows', '<table>a<tr><td>b</td></tr></table>', true],
    ['whose head is behind its rows', '<table><tr><td>a</td></tr><thead><tr><td>b</td></tr></thead></table>', true],
    ['with a second head', '<table><thead><tr><td>a</td></tr></thead><thead><tr><td>b</td></tr></thead></table>', true],
    ['with rows behind their foot', '<table><tr><td>a</td></tr><tfoot><tr><td>b</td></tr></tfoot><tr><td>c</td></tr></table>', true],
    ['with a cell over no column', '<table><tr><td colspan="0">a</td></tr></table>', true],
    ['with more cells than declared columns', '<table><col><tr><td>a</td><td>b</td></tr></table>', true],
    [
      'with cells beside a row that the first one reaches into',
      '<table><tr><td rowspan=2>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>',
      true,
    ],
    ['that end all', '<table><caption>x</caption><colgroup><col></colgroup><tr><td>a</td></tr></table> <table></table></td>', false],
    [
      'whose sections leave out their end tags',
      '<table><thead><tr><th>a</th></tr><tbody><tr><td>b</td></tr><tfoot><tr><td>c</td></tr></table>',
      false,
    ],
    ['with a foot before the rows', '<table><tfoot><tr><td>a</td></tr></tfoot><tr><td>b</td></tr></table>', false],
    ['with remarks between the rows', '<table><!-- a --><tr><td>b</td></tr> <tr><td/></tr></table>', false],
    ['one in another', '<table><tr><td><p>a<ul><li>b<table><tr><th>c</th></tr></table></ul></td></tr></table>', false],
    [
      'with cells over several rows',
      '<table><tr><td rowspan="2">a</td><td>b</td></tr><tr><td>c</td></tr><tr><td>d</td><td>e</td></tr></table>',
      false,
    ],
    ['whose head reaches no further', '<table><thead><tr><th rowspan=2>a</th></tr></thead><tr><td>b</td></tr></table>', false],
  ])('%s', (_, text, expected) => {
    for (const piece of [text.length, 7, 1]) {
      const tables = new TableTags();
      countsOf(markupCounter(tables), text, piece);
      expect(tables.areUnread).toBe(expected);
    }
  });
});

describe('words of RTF', () => {
  it('are counted, however they are cut', () => {
    const text = '{\\itap3 a\\nestcell b\\cell\\cellx100{\\*\\bkmkstart c}}';
    for (const piece of [text.length, 5, 1]) {
      const counts = countsOf(rtfCounter(), `${text} `.padEnd(80), piece);
      expect(counts).toEqual({ depth: 3, cells: 2, chunks: 0, bookmarks: 1, paragraphs: 0 });
    }
  });
});

describe('forms of a PDF', () => {
  /** @param draws by object, its content; each knows form `F<n>` as object n @returns what object 1, the page, draws */
  async function drawn(draws: Readonly<Record<number, string>>) {
    const folder = await mkdtemp(join(tmpdir(), 'filemill-forms-'));
    const forms = new Map(Object.keys(draws).map((object) => [`F${object}`, `${object} 0 R`]));
    const contents = new Map(Object.keys(draws).map((object) => [`${object} 0 R`, { object: Number(object), bytes: 0, forms }]));
    for (const [object, content] of Object.entries(draws)) await writeFile(join(folder, object), content);
    const sum = drawnBy(contents, [['1 0 R']], (object) => join(folder, String(object)));
    await rm(folder, { recursive: true });
    return sum;
  }

  it('count as often as they are drawn, with what they draw', async () => {
    expect(await drawn({ 1: '/F2 Do /F2 Do /F3 Do', 2: '/F3 Do /F3 Do', 3: 'f' })).toEqual({
      forms: 2 * 3 + 1,
      bytes: 20 + 2 * (13 + 2) + 1,
      strings: 0,
    });
  });

  it('count with the strings that they show, blank ones too, however these are written', async () => {
    const page = '( ) Tj <20> Tj [( ) 9 <20>] TJ x\\( ) Tj /F2 Do /F2 Do';
    expect((await drawn({ 1: page, 2: '( )Tj( )Tj' })).strings).toBe(5 + 2 * 2);
  });

  it('that draw themselves, or each other, count once', async () => {
    expect((await drawn({ 1: '/F2 Do', 2: '/F2 Do /F3 Do', 3: '/F2 Do' })).forms).toBeLessThan(10);
  });

  it('that no resource names do not count', async () => {
    expect((await drawn({ 1: '/F9 Do (/F1) /F1do /F2Do' })).forms).toBe(0);
  });
});
