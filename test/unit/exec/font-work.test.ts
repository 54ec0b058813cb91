/** What few bytes of a font can say is counted before FontForge carries it out; honest fonts pass. */
import { describe, expect, it } from 'vitest';
import { boundWork } from '../../../src/exec/programs/fonts/sfnt/work.ts';

type Groups = readonly (readonly [first: number, last: number])[];

/** Format 12 (OpenType 1.9, "cmap"), named by as many records as given. */
function cmap(groups: Groups, records = 1): Buffer {
  const head = Buffer.alloc(4 + 8 * records);
  head.writeUInt16BE(records, 2);
  for (let record = 0; record < records; record++) head.writeUInt32BE(head.length, 8 + 8 * record);
  const table = Buffer.alloc(16 + 12 * groups.length);
  table.writeUInt16BE(12, 0);
  table.writeUInt32BE(groups.length, 12);
  for (const [place, [first, last]] of groups.entries()) {
    table.writeUInt32BE(first, 16 + 12 * place);
    table.writeUInt32BE(last, 20 + 12 * place);
  }
  return Buffer.concat([head, table]);
}

/** Format 4, whose segments all begin at 0. */
function segments(count: number): Buffer {
  const table = Buffer.alloc(16 + 8 * count);
  table.writeUInt16BE(4, 0);
  table.writeUInt16BE(2 * count, 6);
  for (let at = 0; at < count; at++) table.writeUInt16BE(0xfffe, 14 + 2 * at);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(1, 2);
  head.writeUInt32BE(12, 8);
  return Buffer.concat([head, table]);
}

/** @param parts of each glyph; a glyph without is a contour of 100 points */
function glyphs(parts: readonly (readonly number[])[]) {
  const data = parts.map((glyph) => {
    const bytes = Buffer.alloc(10 + (glyph.length === 0 ? 4 : 6 * glyph.length));
    bytes.writeInt16BE(glyph.length === 0 ? 1 : -1, 0);
    if (glyph.length === 0) bytes.writeUInt16BE(99, 10);
    for (const [place, part] of glyph.entries()) {
      bytes.writeUInt16BE(place < glyph.length - 1 ? 0x20 : 0, 10 + 6 * place);
      bytes.writeUInt16BE(part, 12 + 6 * place);
    }
    return bytes;
  });
  const [loca, head, maxp] = [Buffer.alloc(4 * (data.length + 1)), Buffer.alloc(54), Buffer.alloc(6)];
  let at = 0;
  for (const [glyph, { length }] of data.entries()) {
    at += length;
    loca.writeUInt32BE(at, 4 * (glyph + 1));
  }
  head.writeUInt16BE(1, 50);
  maxp.writeUInt16BE(data.length, 4);
  return [
    { tag: 'glyf', data: Buffer.concat(data) },
    { tag: 'loca', data: loca },
    { tag: 'head', data: head },
    { tag: 'maxp', data: maxp },
  ];
}

const check = (tables: readonly { readonly tag: string; readonly data: Buffer }[]) => () => boundWork({ version: 0x0001_0000, tables });
const encoded = (data: Buffer) => check([{ tag: 'cmap', data }]);
const beyond = (limit: string) =>
  expect.objectContaining({ reason: 'input_limit', details: expect.objectContaining({ limit, max: expect.any(Number) }) });
const inChain = (length: number) => glyphs(Array.from({ length }, (_, glyph) => (glyph === 0 ? [] : [glyph - 1])));
const doubled = (length: number) => glyphs(Array.from({ length }, (_, glyph) => (glyph === 0 ? [] : [glyph - 1, glyph - 1])));

describe('a font', () => {
  it.each([
    ['20,000 ranges that overlap', encoded(cmap(Array.from({ length: 20_000 }, () => [0, 0xffff] as const))), 'character codes'],
    ['one range without end', encoded(cmap([[0, 0xffff_ffff]])), 'character codes'],
    ['one encoding of all Unicode, named ten times', encoded(cmap([[0, 0x10_ffff]], 10)), 'character codes'],
    ['a thousand segments that overlap', encoded(segments(1000)), 'character codes'],
    ['1,000 glyphs within one another', check(inChain(1000)), 'glyphs within one another'],
    ['glyphs that double 40 times', check(doubled(40)), 'points of all glyphs'],
    ['glyphs of 60,000 parts', check(glyphs([[], ...Array.from({ length: 200 }, () => Array.from({ length: 60_000 }, () => 0))])), 'p'],
  ])('of %s is refused with figures', (_, work, limit) =>
    expect(work).toThrow(limit === 'p' ? expect.objectContaining({ reason: 'input_limit' }) : beyond(limit)),
  );

  it('whose glyph is a part of itself is damaged', () => expect(check(glyphs([[1], [0]]))).toThrow('a part of itself'));

  it.each([
    ['all of Unicode in two encodings', encoded(cmap([[0, 0x10_ffff]], 2))],
    ['letters with accents on accents', check(glyphs([[], [], [0, 1], [2, 1], [3, 1]]))],
    ['60,000 glyphs of 100 points', check(glyphs(Array.from({ length: 60_000 }, () => [])))],
    ['tables that end too early', check([...glyphs([[], [0]]), { tag: 'cmap', data: Buffer.from([0, 0, 0, 9]) }])],
  ])('of %s passes', (_, work) => expect(work).not.toThrow());
});
