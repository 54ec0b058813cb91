/**
 * Copies the EXIF metadata and the IPTC captions of a picture from and to TIFF, where libvips and ImageMagick lose them, and EXIF from and to JPEG XL.
 *
 *   exif.ts FROM.tiff|CARRIER TO.tiff     adds it to a TIFF; the carrier, a PNG or JPEG of which nothing else is wanted, is removed
 *   exif.ts FROM.tiff|FROM.png TO.jpg     writes a JPEG of one pixel that carries it
 *   exif.ts FROM.png TO.jxl               adds it to a JPEG XL in a container, unless that has some
 *   exif.ts FROM.jxl TO.png|TO.jpg        adds it, unless that has some
 *
 * Only what is short is read and written: the pixels of a TIFF stay as they are, and its new directory lies at its end.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { writeAll } from '../process/write-all.ts';
import { blockOf, type Exif, layExif, MAKER_NOTE, readExif } from './exif/exif.ts';
import { entriesAt, fieldsAt, headOf, layout, type ReadAt, tagOf, words } from './formats/directory.ts';
import { chunk } from './formats/png.ts';

/** IPTC as it is, and in a list of Photoshop's resources (Adobe Photoshop TIFF Technical Notes). */
const [IPTC, RESOURCES] = [33_723, 34_377];
/** Names of segments. */
const [EXIF, PHOTOSHOP] = ['Exif\0\0', 'Photoshop 3.0\0'];
const JPEG = Buffer.from([0xff, 0xd8]);
const PNG = Buffer.from('\x89PNG', 'latin1');
const NOTHING = Buffer.alloc(0);
/** Grey, of one pixel, without the marker at its beginning. */
const PIXEL = Buffer.from(
  '/9sAQwABAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB/8AACwgAAQABAQERAP/EABQAAQAAAAAAAAAAAAAAAAAAAAj/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/9oACAEBAAA/AFSf/9k=',
  'base64',
);
/** Bytes of a segment, with its length but without its marker (ITU-T T.81, B.1.1.4). */
const MOST_SEGMENT = 65_535;

interface Said {
  readonly exif: Exif | undefined;
  readonly captions: Buffer | undefined;
}

function main([from = '', to = '']: readonly string[]): void {
  if (from.endsWith('.jxl')) {
    const exif = withFile(from, 'r', exifInJxl);
    if (exif !== undefined) (to.endsWith('.png') ? addToPng : addToJpeg)(to, exif);
  } else if (to.endsWith('.jpg')) {
    const said = withFile(from, 'r', (read) => (read(0, 4).equals(PNG) ? saidInCarrier : saidInTiff)(read));
    writeFileSync(to, carrierOf(said));
  } else if (to.endsWith('.jxl')) {
    addToJxl(to, withFile(from, 'r', saidInCarrier));
  } else if (from.endsWith('.tiff')) {
    addTo(to, withFile(from, 'r', saidInTiff));
    // The carrier is missing where the metadata is longer than a segment of a JPEG.
  } else if (existsSync(from)) {
    addTo(to, withFile(from, 'r', saidInCarrier));
    rmSync(from);
  }
}

const saidInTiff = (read: ReadAt): Said => ({ exif: readExif(read), captions: captionsIn(read) });

function withFile<Result>(path: string, flags: 'r' | 'r+', use: (read: ReadAt, file: number, size: number) => Result): Result {
  const file = openSync(path, flags);
  const { size } = fstatSync(file);
  const read: ReadAt = (offset, length) => {
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - offset)));
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, offset));
  };
  try {
    return use(read, file, size);
  } finally {
    closeSync(file);
  }
}

function saidInCarrier(read: ReadAt): Said {
  const found: Record<string, ReadAt> = {};
  for (const { name, at, length } of read(0, 2).equals(JPEG) ? segmentsIn(read) : chunksIn(read))
    found[name] ??= (offset, wanted) => read(at + offset, Math.max(0, Math.min(wanted, length - offset)));
  const [block, list] = [found[EXIF] ?? found['eXIf'], found[PHOTOSHOP]];
  return { exif: block && readExif(block), captions: list && captionsAmong(list(0, MOST_SEGMENT)) };
}

interface Part {
  readonly name: string;
  /** Bytes of its content. */
  readonly at: number;
  readonly length: number;
}

/** PNG 3, 5.3: length, name, content and a check of each. */
function* chunksIn(read: ReadAt): Generator<Part> {
  for (let at = 8; ; ) {
    const head = read(at, 8);
    if (head.length < 8) return;
    const length = head.readUInt32BE(0);
    yield { name: head.toString('latin1', 4), at: at + 8, length };
    at += length + 12;
  }
}

/** ITU-T T.81, B.1.1.4: up to the pixels, segments with marker and length, and here a name that ends in zeros. */
function* segmentsIn(read: ReadAt): Generator<Part> {
  for (let at = 2; ; ) {
    const head = read(at, 18);
    if (head.length < 18 || head[0] !== 0xff || head[1] === 0xda) return;
    const length = head.readUInt16BE(2);
    const name = [EXIF, PHOTOSHOP].find((each) => head.toString('latin1', 4, 4 + each.length) === each);
    if (name !== undefined) yield { name, at: at + 4 + name.length, length: length - 2 - name.length };
    at += 2 + length;
  }
}

/** Puts a new first directory behind the end: the old one and what is not in it. Values that it had stay where they are. */
function addTo(path: string, { exif, captions }: Said): void {
  withFile(path, 'r+', (read, file, size) => {
    const head = headOf(read);
    if (head === undefined) return;
    const { order, first } = head;
    const { entries, next } = entriesAt(read, order, first);
    // ImageMagick 6 cuts captions off, and has them whole in the list.
    const told = captions ?? captionsIn(read);
    if (exif === undefined && told === undefined) return;
    const kept = entries.filter((entry) => told === undefined || ![IPTC, RESOURCES].includes(tagOf(entry, order)));
    const known = new Set(kept.map((entry) => tagOf(entry, order)));
    const added = layout(size + (size % 2), order);
    const list = told === undefined ? undefined : resource(told);
    const fresh = [
      ...(exif === undefined ? [] : layExif(exif, added)),
      ...(list === undefined ? [] : [added.entryOf({ tag: RESOURCES, type: 7, count: list.length, value: list })]),
    ];
    const place = added.directory([...kept, ...fresh.filter((entry) => !known.has(tagOf(entry, order)))], next);
    writeAll(file, added.bytes(), size + (size % 2));
    writeAll(file, words(order, [], [place]), 4);
  });
}

/** Bytes of a box before its content (ISO/IEC 14496-12, 4.2): length and name. */
const BOX_HEAD = 8;
/** ISO/IEC 18181-2, 9.5: where the TIFF begins, here at once. */
const TIFF_AT = Buffer.alloc(4);
const MOST_BOXES = 1000;

/** libjxl writes the length of each box, and reads what follows the picture. */
function addToJxl(path: string, { exif }: Said): void {
  if (exif === undefined) return;
  withFile(path, 'r+', (read, file, size) => {
    const [boxes, end] = boxesIn(read);
    const names = boxes.map(({ name }) => name);
    if (end !== size || !names.includes('jxlc') || names.includes('Exif') || names.includes('brob')) return;
    const block = blockOf(exif);
    const head = Buffer.alloc(BOX_HEAD);
    head.writeUInt32BE(BOX_HEAD + TIFF_AT.length + block.length);
    head.write('Exif', 4, 'latin1');
    writeAll(file, Buffer.concat([head, TIFF_AT, block]), size);
  });
}

/** @returns the boxes of a stated length, and where the last of them ends */
function boxesIn(read: ReadAt): readonly [boxes: readonly Part[], end: number] {
  const boxes: Part[] = [];
  let at = 0;
  while (boxes.length < MOST_BOXES) {
    const head = read(at, BOX_HEAD);
    const length = head.length < BOX_HEAD ? 0 : head.readUInt32BE(0);
    if (length < BOX_HEAD) break;
    boxes.push({ name: head.toString('latin1', 4), at: at + BOX_HEAD, length: length - BOX_HEAD });
    at += length;
  }
  return [boxes, at];
}

/** Bytes of EXIF: cameras write a few kilobytes, and notes and thumbnails a few hundred. */
const MOST_EXIF = 16 << 20;

/** A box, or one that is compressed by Brotli, with the name of what it was at its beginning (ISO/IEC 18181-2, 9.5 and 9.8). */
function exifInJxl(read: ReadAt): Exif | undefined {
  const [boxes] = boxesIn(read);
  const plain = boxes.find(({ name }) => name === 'Exif');
  const packed = boxes.find(({ name, at }) => name === 'brob' && read(at, 4).toString('latin1') === 'Exif');
  const content =
    plain !== undefined
      ? read(plain.at, Math.min(plain.length, MOST_EXIF))
      : packed !== undefined && packed.length <= MOST_EXIF
        ? brotliDecompressSync(read(packed.at + 4, packed.length - 4), { maxOutputLength: MOST_EXIF })
        : NOTHING;
  if (content.length < TIFF_AT.length) return undefined;
  const tiff = content.subarray(TIFF_AT.length + content.readUInt32BE(0));
  return readExif((offset, length) => tiff.subarray(offset, offset + length));
}

/** Behind the head, for many programs read no further than to the pixels (PNG 3, 5.6 and 11.3.2.10). */
function addToPng(path: string, exif: Exif): void {
  withFile(path, 'r+', (read, file, size) => {
    const [head] = chunksIn(read);
    if (head?.name !== 'IHDR' || [...chunksIn(read)].some(({ name }) => name === 'eXIf')) return;
    insert({ read, file, size }, head.at + head.length + 4, chunk('eXIf', blockOf(exif)));
  });
}

/** Behind the segment of JFIF, which is the first where there is one. */
function addToJpeg(path: string, exif: Exif): void {
  withFile(path, 'r+', (read, file, size) => {
    const head = read(0, 6);
    if (!head.subarray(0, 2).equals(JPEG) || head.length < 6 || [...segmentsIn(read)].some(({ name }) => name === EXIF)) return;
    insert({ read, file, size }, head[3] === 0xe0 ? 4 + head.readUInt16BE(4) : 2, exifSegment(exif));
  });
}

const PIECE = 8 << 20;

/** Moves what follows a place, from its end on, and puts bytes there. */
function insert(
  { read, file, size }: { readonly read: ReadAt; readonly file: number; readonly size: number },
  place: number,
  bytes: Buffer,
): void {
  for (let end = size; end > place; ) {
    const begin = Math.max(place, end - PIECE);
    writeAll(file, read(begin, end - begin), begin + bytes.length);
    end = begin;
  }
  writeAll(file, bytes, place);
}

function carrierOf({ exif, captions }: Said): Buffer {
  const list = captions === undefined ? NOTHING : segment(0xed, PHOTOSHOP, resource(captions));
  return Buffer.concat([JPEG, exif === undefined ? NOTHING : exifSegment(exif), list, PIXEL]);
}

/** Notes of the camera go where they are too long. */
function exifSegment(exif: Exif): Buffer {
  const whole = segment(0xe1, EXIF, blockOf(exif));
  return whole.length > 0 ? whole : segment(0xe1, EXIF, blockOf({ ...exif, exif: exif.exif.filter(({ tag }) => tag !== MAKER_NOTE) }));
}

/** Nothing where it would be too long. */
function segment(marker: number, name: string, content: Buffer): Buffer {
  const length = 2 + name.length + content.length;
  return length > MOST_SEGMENT
    ? NOTHING
    : Buffer.concat([Buffer.from([0xff, marker, length >> 8, length & 0xff]), Buffer.from(name, 'latin1'), content]);
}

const CAPTIONS = Buffer.from('8BIM\x04\x04', 'latin1');

/** A resource without a name. */
function resource(content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([CAPTIONS, Buffer.alloc(2), length, content, Buffer.alloc(content.length % 2)]);
}

/** IPTC's records, which begin with 0x1c (IIM 4.1, 1.6). */
function captionsIn(read: ReadAt): Buffer | undefined {
  const head = headOf(read);
  if (head === undefined) return undefined;
  const fields = fieldsAt(read, head.order, head.first, new Set([IPTC, RESOURCES]));
  const bytesOf = (wanted: number): Buffer | undefined => {
    const field = fields.find(({ tag }) => tag === wanted);
    // Stored as numbers of 32 bits, they are bytes all the same.
    return field?.type === 4 && head.order === 'MM' ? Buffer.from(field.value).swap32() : field?.value;
  };
  const plain = bytesOf(IPTC);
  return captionsAmong(bytesOf(RESOURCES) ?? NOTHING) ?? (plain?.[0] === 0x1c ? plain : undefined);
}

/** Signature, number, name with its length, length, content, each padded to an even length. */
function captionsAmong(list: Buffer): Buffer | undefined {
  for (let at = 0; at + 12 <= list.length && list.toString('latin1', at, at + 4) === '8BIM'; ) {
    const name = 1 + (list[at + 6] ?? 0);
    const sized = at + 6 + name + (name % 2);
    if (sized + 4 > list.length) return undefined;
    const length = list.readUInt32BE(sized);
    if (list.subarray(at, at + CAPTIONS.length).equals(CAPTIONS)) return list.subarray(sized + 4, sized + 4 + length);
    at = sized + 4 + length + (length % 2);
  }
  return undefined;
}

main(process.argv.slice(2));
