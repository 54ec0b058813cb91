/** Characters that a font has, by its table `cmap` (OpenType 1.9, formats 4 and 12): letters and digits first, a page full at most. */

const MOST = 120;
/** What a specimen begins with, where the font has it. */
const FIRST = [
  [0x41, 0x5a],
  [0x61, 0x7a],
  [0x30, 0x39],
] as const;
/** Combining, private and control characters show nothing by themselves. */
const shows = (code: number): boolean => /[\p{L}\p{N}\p{P}\p{S}]/u.test(String.fromCodePoint(code));
/** Beyond it no table is read: each segment is one of at most so many. */
const MOST_SEGMENTS = 65_536;

type Range = readonly [first: number, last: number];

export function charactersOf(cmap: Buffer): readonly number[] {
  const ranges = rangesOf(cmap);
  const found: number[] = [];
  const has = (code: number): boolean => ranges.some(([first, last]) => code >= first && code <= last);
  for (const [first, last] of FIRST) for (let code = first; code <= last; code++) if (has(code)) found.push(code);
  const basic = new Set(found);
  let tried = 0;
  for (const [first, last] of ranges)
    for (let code = Math.max(first, 0x21); code <= Math.min(last, 0x10_ffff); code++) {
      if (found.length >= MOST || ++tried > MOST_SEGMENTS) return found;
      if (!basic.has(code) && (code < 0xd800 || code > 0xdfff) && shows(code)) found.push(code);
    }
  return found;
}

/** In the order of the codes. Damage ends the reading; the program that draws will tell. */
function rangesOf(cmap: Buffer): readonly Range[] {
  if (cmap.length < 4) return [];
  const count = Math.min(cmap.readUInt16BE(2), Math.floor((cmap.length - 4) / 8));
  const tables = Array.from({ length: count }, (_, index) => {
    const at = cmap.readUInt32BE(4 + 8 * index + 4);
    return { unicode: isUnicode(cmap.readUInt16BE(4 + 8 * index), cmap.readUInt16BE(6 + 8 * index)), at };
  }).filter(({ unicode, at }) => unicode && at + 16 <= cmap.length);
  const formatted = (format: number) => tables.find(({ at }) => cmap.readUInt16BE(at) === format);
  const [long, short] = [formatted(12), formatted(4)];
  if (long !== undefined) return longRanges(cmap.subarray(long.at));
  return short === undefined ? [] : shortRanges(cmap.subarray(short.at));
}

const isUnicode = (platform: number, encoding: number): boolean => platform === 0 || (platform === 3 && [0, 1, 10].includes(encoding));

function longRanges(table: Buffer): readonly Range[] {
  const groups = Math.min(table.readUInt32BE(12), Math.floor((table.length - 16) / 12), MOST_SEGMENTS);
  return Array.from({ length: groups }, (_, index) => [table.readUInt32BE(16 + 12 * index), table.readUInt32BE(20 + 12 * index)] as const);
}

function shortRanges(table: Buffer): readonly Range[] {
  const segments = Math.min(table.readUInt16BE(6) / 2, Math.floor((table.length - 16) / 8));
  return Array.from({ length: Math.floor(segments) }, (_, index) => {
    const [last, first] = [table.readUInt16BE(14 + 2 * index), table.readUInt16BE(16 + 2 * Math.floor(segments) + 2 * index)];
    return [first, Math.min(last, 0xfffe)] as const;
  });
}
