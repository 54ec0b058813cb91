/**
 * Writes the colour profile of a HEIC or AVIF into a file: ImageMagick 6 does not read it.
 *
 *   icc.ts INPUT OUTPUT.icc FALLBACK     the fallback, a profile in base64, takes the place of one that is missing, damaged, or not of red, green and blue
 *
 * Boxes are those of ISO/IEC 14496-12; properties of pictures those of ISO/IEC 23008-12, 6.5.5.
 */
import { closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';

/** Bytes of the box with all that is said of the pictures: large ones have hundreds of tiles. */
const MOST_META = 4 << 20;
/** Boxes of a file before the one that is looked for. */
const MOST_BOXES = 64;
/** Entries of a profile; usual ones have up to thirty. */
const MOST_TAGS = 200;
const HEADER = 128;

interface Box {
  readonly type: string;
  readonly from: number;
  readonly to: number;
}

/** The head of the box at an offset; undefined where there is none, or one that does not fit. */
function boxAt(read: (offset: number, length: number) => Buffer, offset: number, end: number): Box | undefined {
  const head = read(offset, 16);
  if (head.length < 8) return undefined;
  const short = head.readUInt32BE(0);
  if (short === 1 && head.length < 16) return undefined;
  const size = short === 0 ? end - offset : short === 1 ? Number(head.readBigUInt64BE(8)) : short;
  const to = offset + size;
  if (size < (short === 1 ? 16 : 8) || to > end) return undefined;
  return { type: head.toString('latin1', 4, 8), from: offset + (short === 1 ? 16 : 8), to };
}

/** The contents of the boxes of this type in another one. */
function within(content: Buffer, type: string): readonly Buffer[] {
  const found: Buffer[] = [];
  const read = (offset: number, length: number) => content.subarray(offset, offset + length);
  for (let box = boxAt(read, 0, content.length); box !== undefined; box = boxAt(read, box.to, content.length))
    if (box.type === type) found.push(content.subarray(box.from, box.to));
  return found;
}

function metaOf(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const read = (offset: number, length: number) => {
      const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - offset)));
      return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, offset));
    };
    let box = boxAt(read, 0, size);
    for (let count = 0; box !== undefined && count < MOST_BOXES; count++) {
      // Its version and flags are not part of what it contains.
      if (box.type === 'meta' && box.to - box.from <= MOST_META) return read(box.from + 4, box.to - box.from - 4);
      box = boxAt(read, box.to, size);
    }
    return Buffer.alloc(0);
  } finally {
    closeSync(file);
  }
}

/** Whether a profile is one of red, green and blue, and all its entries lie within it (ICC.1:2022, 7.2 and 7.3). */
function isUsable(profile: Buffer): boolean {
  if (profile.length < HEADER + 4 || profile.readUInt32BE(0) > profile.length) return false;
  if (profile.toString('latin1', 36, 40) !== 'acsp' || profile.toString('latin1', 16, 20) !== 'RGB ') return false;
  const count = profile.readUInt32BE(HEADER);
  if (count === 0 || count > MOST_TAGS || HEADER + 4 + 12 * count > profile.length) return false;
  for (let at = HEADER + 4; at < HEADER + 4 + 12 * count; at += 12)
    if (profile.readUInt32BE(at + 4) + profile.readUInt32BE(at + 8) > profile.length) return false;
  return true;
}

const [input = '', output = '', fallback = ''] = process.argv.slice(2);
const properties = within(metaOf(input), 'iprp').flatMap((content) => within(content, 'ipco'));
const profiles = properties
  .flatMap((content) => within(content, 'colr'))
  .filter((content) => ['prof', 'rICC'].includes(content.toString('latin1', 0, 4)))
  .map((content) => content.subarray(4));
writeFileSync(output, profiles.find(isUsable) ?? Buffer.from(fallback, 'base64'));
