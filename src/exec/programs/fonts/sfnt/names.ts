/**
 * Names for the glyphs of a large font that has none, as most Chinese, Japanese and Korean ones: FontForge makes up a name for each glyph with a code,
 * and compares it with those of all glyphs before, 20 s for 60,000. With names in the font it opens as fast as any other.
 */
import { type Font, tableOf } from './font.ts';
import { segmentsOf } from './work.ts';

/** Below this, FontForge's own names, which are of the Adobe Glyph List, cost less than half a second. */
const MANY = 8_192;
/** Standard names of format 2 of `post` (OpenType 1.9, "post"): others are numbered from here. */
const STANDARD = 258;
const HEADER_BYTES = 32;
const FORMAT_2 = 0x0002_0000;
/** No name has a greater number in that table. */
const MOST_NUMBER = 0xffff;
const NOTDEF = '.notdef';

/** The font, or one whose `post` names all of its glyphs: as it did, and the rest by their codes, as in `uni4E00`, or by their numbers. */
export function withNames(font: Font): Font {
  const maxp = tableOf(font, 'maxp');
  // In CFF each glyph has a name already.
  if (tableOf(font, 'glyf') === undefined || maxp === undefined || maxp.length < 6) return font;
  const count = maxp.readUInt16BE(4);
  if (count <= MANY) return font;
  const post = tableOf(font, 'post') ?? Buffer.alloc(0);
  const names = namesOf(post, count);
  if (count - names.size <= MANY) return font;
  const data = tableOfNames(post, complete(names, codesOf(tableOf(font, 'cmap') ?? Buffer.alloc(0)), count), count);
  return { ...font, tables: [...font.tables.filter(({ tag }) => tag !== 'post'), { tag: 'post', data }] };
}

/** A name, or the number of a standard one. */
type Name = string | number;

/** By glyph; FontForge takes a second `.notdef`, an empty name, and all but the last use of one name, as none. */
function namesOf(post: Buffer, count: number): ReadonlyMap<number, Name> {
  if (post.length < HEADER_BYTES + 2 || post.readUInt32BE(0) !== FORMAT_2) return new Map();
  const listed = Math.min(post.readUInt16BE(HEADER_BYTES), Math.floor((post.length - HEADER_BYTES - 2) / 2));
  const texts: string[] = [];
  for (let at = HEADER_BYTES + 2 + 2 * listed; at < post.length && texts.length <= MOST_NUMBER - STANDARD; ) {
    const length = post.readUInt8(at);
    texts.push(post.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const glyphs = new Map<Name, number>();
  for (let glyph = 1; glyph < Math.min(listed, count); glyph++) {
    const index = post.readUInt16BE(HEADER_BYTES + 2 + 2 * glyph);
    const name = index < STANDARD ? index : texts[index - STANDARD];
    if (name !== undefined && name !== 0 && name !== '' && name !== NOTDEF) glyphs.set(name, glyph);
  }
  return new Map([...glyphs].map(([name, glyph]) => [glyph, name]));
}

/** Each name once. */
function complete(known: ReadonlyMap<number, Name>, codes: ReadonlyMap<number, number>, count: number): ReadonlyMap<number, Name> {
  const names = new Map(known);
  const taken = new Set(known.values());
  for (let glyph = 1; glyph < count; glyph++) {
    if (names.has(glyph)) continue;
    const code = codes.get(glyph);
    const wanted = [...(code === undefined ? [] : [nameOfCode(code)]), `glyph${glyph}`, `glyph${glyph}.${count}`];
    const name = wanted.find((each) => !taken.has(each));
    if (name === undefined) continue;
    names.set(glyph, name);
    taken.add(name);
  }
  return names;
}

/** Adobe Glyph List Specification, 2; the standard names of ASCII stand in its order, from 3 for the blank. */
function nameOfCode(code: number): Name {
  if (code >= 0x20 && code <= 0x7e) return code - 0x20 + 3;
  const digits = code.toString(16).toUpperCase().padStart(4, '0');
  return code > 0xffff ? `u${digits}` : `uni${digits}`;
}

function tableOfNames(post: Buffer, names: ReadonlyMap<number, Name>, count: number): Buffer {
  const head = Buffer.alloc(HEADER_BYTES + 2 + 2 * count);
  post.copy(head, 0, 0, HEADER_BYTES);
  head.writeUInt32BE(FORMAT_2, 0);
  head.writeUInt16BE(count, HEADER_BYTES);
  const texts: Buffer[] = [];
  for (const [glyph, name] of names) {
    const index = typeof name === 'number' ? name : STANDARD + texts.length;
    // So few glyphs cost nothing without names.
    if (index > MOST_NUMBER) continue;
    head.writeUInt16BE(index, HEADER_BYTES + 2 + 2 * glyph);
    if (typeof name === 'string') texts.push(Buffer.from(`${String.fromCharCode(name.length)}${name}`, 'latin1'));
  }
  return Buffer.concat([head, ...texts]);
}

/** The least code of each glyph, in the Unicode encodings that fonts have (OpenType 1.9, "cmap", formats 4 and 12), whose size is bounded before. */
function codesOf(cmap: Buffer): ReadonlyMap<number, number> {
  const codes = new Map<number, number>();
  const found = (glyph: number, code: number): void => {
    if (code < (codes.get(glyph) ?? Number.POSITIVE_INFINITY)) codes.set(glyph, code);
  };
  const records = cmap.length < 4 ? 0 : Math.min(cmap.readUInt16BE(2), Math.floor((cmap.length - 4) / 8));
  for (let record = 0; record < records; record++) {
    const [platform, encoding] = [cmap.readUInt16BE(4 + 8 * record), cmap.readUInt16BE(6 + 8 * record)];
    if (platform !== 0 && !(platform === 3 && (encoding === 1 || encoding === 10))) continue;
    const table = cmap.subarray(cmap.readUInt32BE(8 + 8 * record));
    const u16 = (at: number): number => (at + 2 <= table.length ? table.readUInt16BE(at) : 0);
    const u32 = (at: number): number => (at + 4 <= table.length ? table.readUInt32BE(at) : 0);
    if (u16(0) === 4) {
      for (const { first, last, delta, offsetAt } of segmentsOf(table)) {
        for (let code = first; code <= last && code < 0xffff; code++) {
          const offset = u16(offsetAt);
          const glyph = offset === 0 ? code : u16(offsetAt + offset + 2 * (code - first));
          if (glyph !== 0) found((glyph + delta) & 0xffff, code);
        }
      }
    } else if (u16(0) === 12)
      for (let group = 0, at = 16; group < u32(12) && at < table.length; group++, at += 12) {
        const [first, last, glyph] = [u32(at), u32(at + 4), u32(at + 8)];
        for (let code = first; code <= Math.min(last, 0x10ffff); code++) found(glyph + code - first, code);
      }
  }
  return codes;
}
