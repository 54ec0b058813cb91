/**
 * Decompresses bzip2, in which an archive of weights is published and which Node does not read: blocks of up to 900,000 bytes, each sorted (Burrows and
 * Wheeler, 1994), moved to front, run-length encoded and packed by Huffman's codes. The archive's SHA-256 is checked before: checksums inside are not.
 */

const [BLOCK_MAGIC, END_MAGIC] = [0x314159265359, 0x177245385090];
/** Symbols of one table's stretch, and bits of the longest code. */
const [STRETCH, LONGEST] = [50, 20];

/** @param most bytes @throws RangeError for what is no bzip2, and where there is more */
export function bunzip2(packed: Uint8Array, most: number): Buffer {
  const bits = new Bits(packed, 32);
  const level = (packed[3] ?? 0) - 0x30;
  if (level < 1 || level > 9) throw new RangeError('expected bzip2 of level 1 to 9');
  const parts: Uint8Array[] = [];
  let count = 0;
  for (;;) {
    const magic = bits.read(24) * 2 ** 24 + bits.read(24);
    if (magic === END_MAGIC) return Buffer.concat(parts);
    if (magic !== BLOCK_MAGIC) throw new RangeError('expected a block of bzip2');
    const part = blockOf(bits, level * 100_000, most - count);
    parts.push(part);
    count += part.length;
  }
}

class Bits {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  /** @param count 1 to 24 */
  read(count: number): number {
    if (this.#at + count > this.#bytes.length * 8) throw new RangeError('bzip2 ends too early');
    const bytes = this.#bytes;
    const byte = Math.floor(this.#at / 8);
    const word = ((bytes[byte] ?? 0) << 24) | ((bytes[byte + 1] ?? 0) << 16) | ((bytes[byte + 2] ?? 0) << 8) | (bytes[byte + 3] ?? 0);
    const value = (word << (this.#at % 8)) >>> (32 - count);
    this.#at += count;
    return value;
  }
}

/** Codes of each length are consecutive numbers: the first of each, and the symbols in order. */
interface Table {
  readonly first: Int32Array;
  readonly counts: Int32Array;
  readonly symbols: readonly number[];
}

function tableOf(bits: Bits, symbols: number): Table {
  const lengths: number[] = [];
  let length = bits.read(5);
  for (let symbol = 0; symbol < symbols; symbol++) {
    while (bits.read(1) === 1) length += bits.read(1) === 1 ? -1 : 1;
    if (length < 1 || length > LONGEST) throw new RangeError(`expected codes of 1 to ${LONGEST} bits`);
    lengths.push(length);
  }
  const [first, counts] = [new Int32Array(LONGEST + 1), new Int32Array(LONGEST + 1)];
  for (const each of lengths) counts[each] = (counts[each] as number) + 1;
  for (let each = 1, code = 0; each <= LONGEST; each++) {
    first[each] = code;
    code = (code + (counts[each] as number)) << 1;
  }
  const order = lengths.map((_, symbol) => symbol).sort((a, b) => (lengths[a] as number) - (lengths[b] as number) || a - b);
  return { first, counts, symbols: order };
}

function symbolOf(bits: Bits, { first, counts, symbols }: Table): number {
  let [code, before] = [0, 0];
  for (let length = 1; length <= LONGEST; length++) {
    code = (code << 1) | bits.read(1);
    const place = code - (first[length] as number);
    if (place < (counts[length] as number)) return symbols[before + place] as number;
    before += counts[length] as number;
  }
  throw new RangeError('expected a code of bzip2');
}

function blockOf(bits: Bits, largest: number, most: number): Uint8Array {
  // A checksum of the block, which the digest of the whole file makes needless.
  bits.read(24);
  bits.read(8);
  if (bits.read(1) === 1) throw new RangeError('bzip2 of before 2000 is not read');
  const origin = bits.read(24);
  const ranges = bits.read(16);
  const used: number[] = [];
  for (let range = 0; range < 16; range++) {
    if ((ranges & (0x8000 >> range)) === 0) continue;
    const present = bits.read(16);
    for (let i = 0; i < 16; i++) if ((present & (0x8000 >> i)) !== 0) used.push(range * 16 + i);
  }
  const tables = bits.read(3);
  const selectorCount = bits.read(15);
  if (tables < 2 || tables > 6 || selectorCount === 0) throw new RangeError('expected two to six tables');
  const order = Array.from({ length: tables }, (_, i) => i);
  const selectors = Array.from({ length: selectorCount }, () => {
    let place = 0;
    while (bits.read(1) === 1) if (++place >= tables) throw new RangeError('expected a table of the block');
    const [chosen = 0] = order.splice(place, 1);
    order.unshift(chosen);
    return chosen;
  });
  const codes = Array.from({ length: tables }, () => tableOf(bits, used.length + 2));
  const sorted = sortedOf(bits, { selectors, codes, used, largest });
  return plainOf(sorted, origin, most);
}

interface Coded {
  readonly selectors: readonly number[];
  readonly codes: readonly Table[];
  /** Bytes that occur. */
  readonly used: readonly number[];
  readonly largest: number;
}

/** The bytes as they were sorted. Symbols 0 and 1 are digits of a run's length, to base 2 without a zero. */
function sortedOf(bits: Bits, { selectors, codes, used, largest }: Coded): Uint8Array {
  const bytes = new Uint8Array(largest);
  const front = [...used];
  const end = used.length + 1;
  let [count, run, digit] = [0, 0, 1];
  const flush = () => {
    if (count + run > largest) throw new RangeError('expected a block within its level');
    bytes.fill(front[0] ?? 0, count, count + run);
    count += run;
    [run, digit] = [0, 1];
  };
  for (let at = 0; ; at++) {
    const table = codes[selectors[Math.floor(at / STRETCH)] ?? -1];
    if (table === undefined) throw new RangeError('bzip2 ends too early');
    const symbol = symbolOf(bits, table);
    if (symbol < 2) {
      run += digit * (symbol + 1);
      digit *= 2;
      if (run > largest) throw new RangeError('expected a block within its level');
      continue;
    }
    flush();
    if (symbol === end) return bytes.subarray(0, count);
    const [byte = 0] = front.splice(symbol - 1, 1);
    front.unshift(byte);
    if (count === largest) throw new RangeError('expected a block within its level');
    bytes[count++] = byte;
  }
}

/** Undoes the sorting, and the runs before it: four equal bytes are followed by how often they are repeated. */
function plainOf(sorted: Uint8Array, origin: number, most: number): Uint8Array {
  const starts = new Uint32Array(257);
  for (const byte of sorted) starts[byte + 1] = (starts[byte + 1] as number) + 1;
  for (let byte = 0; byte < 256; byte++) starts[byte + 1] = (starts[byte + 1] as number) + (starts[byte] as number);
  const next = new Uint32Array(sorted.length);
  for (const [i, byte] of sorted.entries()) {
    const place = starts[byte] as number;
    starts[byte] = place + 1;
    next[place] = i;
  }
  if (origin >= sorted.length && sorted.length > 0) throw new RangeError('expected an origin within the block');
  let plain = new Uint8Array(Math.max(16, sorted.length * 2));
  let [count, same, last] = [0, 0, -1];
  const room = (more: number) => {
    if (count + more > most) throw new RangeError(`expected at most ${most} bytes`);
    if (count + more <= plain.length) return;
    const larger = new Uint8Array(Math.max(plain.length * 2, count + more));
    larger.set(plain);
    plain = larger;
  };
  for (let i = 0, at = next[origin] ?? 0; i < sorted.length; i++, at = next[at] ?? 0) {
    const byte = sorted[at] as number;
    if (same === 4) {
      room(byte);
      plain.fill(last, count, count + byte);
      count += byte;
      [same, last] = [0, -1];
      continue;
    }
    room(1);
    plain[count++] = byte;
    same = byte === last ? same + 1 : 1;
    last = byte;
  }
  return plain.subarray(0, count);
}
