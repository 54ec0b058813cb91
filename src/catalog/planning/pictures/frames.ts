/** Counts the pictures in a file before anything decodes it: a megabyte can hold 100,000 frames, and every decoder would produce them all. */
import { inputLimit } from '../../../errors.ts';
import { MAX_FRAMES, MAX_PAGES } from '../../bounds.ts';
import { directoryNumbers, has, u16le, u32le } from '../../looks/bytes.ts';
import type { Pieces } from '../pieces.ts';
import { chunksIn } from './png.ts';

/** Yields once for each picture, in linear time; ends at the end of the file, or at damage. */
type Walk = (file: Pieces) => Generator<undefined>;

const WALKS: Readonly<Record<string, { readonly walk: Walk; readonly limit: 'frames' | 'pages'; readonly max: number }>> = {
  gif: { walk: gif, limit: 'frames', max: MAX_FRAMES },
  png: { walk: png, limit: 'frames', max: MAX_FRAMES },
  apng: { walk: png, limit: 'frames', max: MAX_FRAMES },
  webp: { walk: webp, limit: 'frames', max: MAX_FRAMES },
  ico: { walk: icon, limit: 'frames', max: MAX_FRAMES },
  cur: { walk: icon, limit: 'frames', max: MAX_FRAMES },
  tiff: { walk: tiff, limit: 'pages', max: MAX_PAGES },
};

/** @throws Failure `input_limit` */
export function boundFrames(format: string, file: Pieces): void {
  const known = WALKS[format];
  const count = countPictures(format, file);
  if (known !== undefined && count > known.max) throw inputLimit(known.limit, known.max, count);
}

/** @returns how many pictures the file has, at most one beyond the bound; 0 where the format is not counted */
export function countPictures(format: string, file: Pieces): number {
  const known = WALKS[format];
  let count = 0;
  for (const _ of known?.walk(file) ?? []) if (++count > (known?.max ?? 0)) break;
  return count;
}

/** GIF89a, appendix A: blocks begin with a type byte; data is in sub-blocks of at most 255 bytes. */
function* gif(file: Pieces): Generator<undefined> {
  const table = (flags: number) => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);
  let at = 13 + table(file.byte(10) ?? 0);
  for (;;) {
    const block = file.read(at, 10);
    if (block[0] === 0x2c) {
      yield;
      at += 11 + table(block[9] ?? 0);
    } else if (block[0] === 0x21) at += 2;
    else if (block[0] === 0x3b || block.length === 0) return;
    else {
      at = nextBlock(file, at);
      continue;
    }
    for (let length = 1; length > 0; at += 1 + length) {
      const next = file.byte(at);
      if (next === undefined) return;
      length = next;
    }
  }
}

/** Skips bytes that are no block, as some decoders do. */
function nextBlock(file: Pieces, from: number): number {
  for (let at = from; at < file.size; ) {
    const bytes = file.read(at, 1024);
    const found = bytes.findIndex((byte) => byte === 0x2c || byte === 0x21 || byte === 0x3b);
    if (found >= 0) return at + found;
    at += Math.max(1, bytes.length);
  }
  return file.size;
}

/** PNG 3, 11.3.6.2: `fcTL` begins a frame. */
function* png(file: Pieces): Generator<undefined> {
  for (const { head } of chunksIn(file)) if (has(head, 4, 'fcTL')) yield;
}

/** WebP container specification: RIFF chunks with even lengths; `ANMF` holds a frame. */
function* webp(file: Pieces): Generator<undefined> {
  for (let at = 12; at + 8 <= file.size; ) {
    const head = file.read(at, 8);
    if (has(head, 0, 'ANMF')) yield;
    const length = u32le(head, 4);
    at += 8 + length + (length % 2);
  }
}

/** The directory of an icon or cursor has the number of pictures. */
function* icon(file: Pieces): Generator<undefined> {
  const count = u16le(file.read(4, 2), 0);
  for (let index = 0; index < count; index++) yield;
}

/** TIFF 6.0, section 2, and BigTIFF: each directory has the offset of the next. A cycle would never end by itself. */
function* tiff(file: Pieces): Generator<undefined> {
  const head = file.read(0, 16);
  const { short, long, longer } = directoryNumbers(head);
  const big = short(head, 2) === 43;
  let at = big ? longer(head, 8) : long(head, 4);
  while (at > 0 && at < file.size) {
    yield;
    const entries = big ? longer(file.read(at, 8)) : short(file.read(at, 2));
    const next = big ? at + 8 + 20 * entries : at + 2 + 12 * entries;
    at = big ? longer(file.read(next, 8)) : long(file.read(next, 4));
  }
}
