/** Blocks of Pandoc's trees and of printed lines: links wherever they stand, several authors, rows of numbers at the edge of a page. */
import { describe, expect, it } from 'vitest';
import { tablesIn } from '../../../../src/exec/programs/documents/model/grid.ts';
import { markupBlocks, metaText, tableBlocks } from '../../../../src/exec/programs/documents/model/markup.ts';
import type { Block } from '../../../../src/exec/programs/documents/model/model.ts';
import { printedBlocks } from '../../../../src/exec/programs/documents/model/printed.ts';
import type { Json } from '../../../../src/exec/programs/documents/pandoc-tree/tree.ts';
import { linesIn, pagesIn } from '../../../../src/exec/programs/pdf/layout/words.ts';

const str = (text: string): Json => ({ t: 'Str', c: text });
const link = (text: string, url: string): Json => ({ t: 'Link', c: [['', [], []], [str(text)], [url, '']] });
const para = (...inlines: Json[]): Json => ({ t: 'Para', c: inlines });
const NONE: Json = ['', [], []];

describe('a tree', () => {
  it('gives the links of cells and footnotes to their blocks', () => {
    const cell: Json = [NONE, { t: 'AlignDefault' }, 1, 1, [para(link('here', 'https://a.example'))]];
    const body: Json = [NONE, 0, [], [[NONE, [cell]]]];
    const table: Json = { t: 'Table', c: [NONE, [null, []], [], [NONE, []], [body], [NONE, []]] };
    const noted = para(str('a'), { t: 'Note', c: [para(link('there', 'https://b.example'))] });
    expect(markupBlocks({ meta: {}, blocks: [table, noted] })).toEqual([
      { type: 'table', rows: [[{ text: 'here' }]], origin: 'markup', links: [{ text: 'here', url: 'https://a.example' }] },
      { type: 'paragraph', text: 'a[1]', origin: 'markup' },
      { type: 'footnote', label: '1', text: 'there', origin: 'markup', links: [{ text: 'there', url: 'https://b.example' }] },
    ]);
  });

  it('keeps authors apart', () => {
    const names = ['Ann Smith', 'Bob Jones'].map((name) => ({ t: 'MetaInlines', c: [str(name)] }));
    expect(metaText({ meta: { author: { t: 'MetaList', c: names } }, blocks: [] }, 'author')).toBe('Ann Smith, Bob Jones');
  });

  it('is refused where it is nested deeper than the stack allows, and read where it is not', () => {
    const nested = (levels: number): Json => {
      let block = para(str('deep'));
      for (let level = 0; level < levels; level++) block = { t: 'Div', c: [NONE, [block]] };
      return block;
    };
    expect(markupBlocks({ meta: {}, blocks: [nested(300)] })).toMatchObject([{ text: 'deep' }]);
    expect(() => markupBlocks({ meta: {}, blocks: [nested(20_000)] })).toThrow(expect.objectContaining({ reason: 'input_limit' }));
  });
});

describe('a table around another', () => {
  const cellOf = (...blocks: readonly Json[]): Json => [NONE, { t: 'AlignDefault' }, 1, 1, [...blocks]];
  const tableOf = (rows: readonly Json[][]): Json => ({
    t: 'Table',
    c: [NONE, [null, []], [], [NONE, []], [[NONE, 0, [], rows.map((cells) => [NONE, cells])]], [NONE, []]],
  });
  const inner = tableOf([[cellOf(para(str('inner')))]]);

  it.each([
    [
      'is one where it has data itself, before the one inside',
      [
        [cellOf(para(str('a'))), cellOf(para(str('b')))],
        [cellOf(para(str('c'))), cellOf(para(str('d')), inner)],
      ],
      ['a b|c d inner', 'inner'],
    ],
    [
      'is none where it lays out the page',
      [
        [cellOf(para(str('head'))), cellOf()],
        [cellOf(para(str('menu'))), cellOf(inner)],
      ],
      ['inner'],
    ],
  ] as const)('%s', (_, rows, expected) => {
    const found = tableBlocks({ meta: {}, blocks: [tableOf(rows as unknown as Json[][])] });
    expect(
      tablesIn(found).map((table) => table.rows.map((row) => row.map(({ text }) => text.replace(/\s+/g, ' ')).join(' ')).join('|')),
    ).toEqual(expected);
  });
});

it.each([
  ['a head is there once', ['Name', 'Count'], 3],
  ['a row of data stays', ['kestrel', '12'], 4],
])('of a table that goes on at the next page, %s', (_, first, count) => {
  const part = (page: number): Block => ({
    type: 'table',
    rows: [first, ['marble', '34']].map((row) => row.map((text) => ({ text }))),
    origin: 'layout',
    boxes: [{ page, left: 0, top: 0, right: 1, bottom: 1 }],
  });
  expect(tablesIn([part(1), part(2)]).map(({ rows }) => rows.length)).toEqual([count]);
});

it('rows of numbers at the edges of pages belong to their table', () => {
  const rows: string[] = [];
  for (let page = 1; page <= 4; page++) {
    rows.push([1, page, 0, 0, 0, 0, 0, 0, 595, 842, -1, '###PAGE###'].join('\t'));
    for (let line = 0; line < 30; line++)
      for (const [at, left] of [60, 200, 340, 480].entries())
        rows.push([5, page, 1, line, line, at, left, 40 + line * 26, 30, 10, 100, `${page}${line}${at}`].join('\t'));
  }
  const list = rows.join('\n');
  const blocks = printedBlocks(linesIn(list), pagesIn(list));
  expect(blocks.filter(({ type }) => type !== 'table')).toEqual([]);
  expect(blocks.flatMap((block) => (block.type === 'table' ? block.rows : []))).toHaveLength(120);
});
