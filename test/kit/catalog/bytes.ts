/** Bytes made by hand: files that no program here writes, or that no honest program would. */

import type { Sample } from '../../../src/catalog/looks/sample.ts';
import { Sampler } from '../../../src/catalog/looks/sample.ts';

/** One byte a character. */
/** A picture of one pixel: a job that costs little, for what is about jobs and not about files. */
export const DOT = {
  name: 'dot.png',
  bytes: Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==', 'base64'),
};

/** Numbers of 16 and of 32 bits, the lowest byte first. */
export const u16 = (...values: readonly number[]): Buffer => Buffer.from(Uint16Array.from(values).buffer);
export const u32 = (...values: readonly number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer);

export const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

/** What sniffing sees of a file that came in pieces, as uploads do. */
export function sampleOf(content: Uint8Array | string, pieceBytes = 60_000): Sample {
  const sampler = new Sampler();
  const bytes = Buffer.from(content);
  for (let at = 0; at < bytes.length; at += pieceBytes) sampler.push(bytes.subarray(at, at + pieceBytes));
  return sampler.sample();
}

/** Bytes that are the same in every run (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b_79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function noise(length: number, seed: number): Buffer {
  const random = seeded(seed);
  return Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
}

export interface Part {
  readonly name: string;
  readonly content?: string;
  /** What the headers say of the size, whatever the content is. */
  readonly claims?: number;
}

/** A ZIP of stored parts. @param directory the names in the central directory, where they shall differ from the local ones */
export function zipOf(parts: readonly Part[], directory: readonly Part[] = parts): Buffer {
  const local = parts.map(({ name, content = '', claims = content.length }) => {
    const header = Buffer.alloc(30);
    header.write('PK\x03\x04', 'latin1');
    header.writeUInt32LE(claims, 18);
    header.writeUInt32LE(claims, 22);
    header.writeUInt16LE(name.length, 26);
    return Buffer.concat([header, latin1(name + content)]);
  });
  const central = directory.map(({ name, content = '', claims = content.length }) => {
    const header = Buffer.alloc(46);
    header.write('PK\x01\x02', 'latin1');
    header.writeUInt32LE(claims, 20);
    header.writeUInt32LE(claims, 24);
    header.writeUInt16LE(name.length, 28);
    return Buffer.concat([header, latin1(name)]);
  });
  const [body, index, end] = [Buffer.concat(local), Buffer.concat(central), Buffer.alloc(22)];
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(central.length, 10);
  end.writeUInt32LE(index.length, 12);
  end.writeUInt32LE(body.length, 16);
  return Buffer.concat([body, index, end]);
}

/**
 * A compound file with one allocation table and one directory sector of the given streams below the root.
 * @param deeper streams inside a storage, as embedded objects are
 */
export function compoundOf(streams: readonly string[], deeper: readonly string[] = []): Buffer {
  const SECTOR = 512;
  const NONE = 0xffff_ffff;
  const header = Buffer.alloc(SECTOR);
  header.write('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'latin1');
  header.writeUInt16LE(9, 30);
  header.writeUInt32LE(1, 48);
  header.writeUInt32LE(0, 76);
  const table = Buffer.alloc(SECTOR, 0xff);
  table.writeUInt32LE(0xffff_fffd, 0);
  table.writeUInt32LE(2, 4);
  table.writeUInt32LE(0xffff_fffe, 8);
  const entry = (name: string, right: number, child: number) => {
    const bytes = Buffer.alloc(128);
    bytes.write(name, 'utf16le');
    bytes.writeUInt16LE(name.length * 2 + 2, 64);
    bytes.writeUInt32LE(NONE, 68);
    bytes.writeUInt32LE(right, 72);
    bytes.writeUInt32LE(child, 76);
    return bytes;
  };
  // The tree's order does not matter to us: each entry is the right neighbour of the one before.
  const top = [...streams, ...(deeper.length > 0 ? ['ObjectPool'] : [])];
  const below = top.map((name, i) => entry(name, i + 1 < top.length ? i + 2 : NONE, name === 'ObjectPool' ? top.length + 1 : NONE));
  const inner = deeper.map((name, i) => entry(name, i + 1 < deeper.length ? top.length + i + 2 : NONE, NONE));
  const directory = Buffer.concat([entry('Root Entry', NONE, 1), ...below, ...inner], 2 * SECTOR);
  return Buffer.concat([header, table, directory]);
}

/** A cursor of 16 × 16 with one bit a pixel. */
export function cursor(): Buffer {
  const bytes = Buffer.alloc(22 + 40 + 8 + 128);
  bytes.set([0, 0, 2, 0, 1, 0, 16, 16, 2, 0]);
  bytes.writeUInt32LE(bytes.length - 22, 14);
  bytes.writeUInt32LE(22, 18);
  bytes.writeUInt32LE(40, 22);
  return bytes;
}

/** The box that opens an ISO base media file. */
export function fileTypeBox(major: string, compatible: readonly string[] = []): Buffer {
  const box = latin1(`\0\0\0\0ftyp${major}\0\0\0\0${compatible.join('')}`);
  box.writeUInt32BE(box.length, 0);
  return box;
}
