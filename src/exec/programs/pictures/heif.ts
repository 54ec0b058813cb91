/**
 * Copies the metadata of a HEIC or AVIF for programs that do not read it: ImageMagick 6 reads neither colour profile nor XMP, and
 * libheif's decoder writes no EXIF into a PNG, and no PNG at all where the profile is not one of red, green and blue.
 *
 *   heif.ts said INPUT OUTPUT.icc FALLBACK OUTPUT.xmp OUTPUT.app1
 *                                                       as ImageMagick reads them; the fallback, a profile in base64, takes the place of one that is missing
 *                                                       or not usable, and the last is EXIF as it stands in a JPEG
 *   heif.ts mend INPUT OUTPUT                           the same file without profiles that are not usable
 *   heif.ts tell INPUT DECODED.png OUTPUT.png           the PNG with EXIF, but for the orientation, which the decoder has applied, and XMP
 */
import { closeSync, copyFileSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import { writeAll } from '../process/write-all.ts';
import { blockOf, type Exif, readExif } from './exif/exif.ts';
import type { ReadAt } from './formats/directory.ts';
import { chunk } from './formats/png.ts';
import { itemOf, metaOf, type Profile, profilesIn } from './heif/boxes.ts';

/** Entries of a profile; usual ones have up to thirty. */
const MOST_TAGS = 200;
const HEADER = 128;
/** Bytes of XMP, or of EXIF: a segment of a JPEG holds no more. */
const MOST_SAID = 65_000;
const NOTHING: Exif = { said: [], exif: [], gps: [], interoperability: [] };
const NO_XMP = Buffer.from('<x:xmpmeta xmlns:x="adobe:ns:meta/"/>');
/** XMP Specification, part 3, 1.1.5: text that is neither compressed nor in a language. */
const XMP_KEYWORD = 'XML:com.adobe.xmp\0\0\0\0\0';
const COPIED = 1 << 20;

interface Source {
  readonly read: ReadAt;
  readonly size: number;
  readonly meta: ReturnType<typeof metaOf>;
}

function opened<Result>(path: string, use: (read: ReadAt, size: number) => Result): Result {
  const file = openSync(path, 'r');
  const { size } = fstatSync(file);
  const read: ReadAt = (offset, length) => {
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - offset)));
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, offset));
  };
  try {
    return use(read, size);
  } finally {
    closeSync(file);
  }
}

const withSource = <Result>(path: string, use: (source: Source) => Result): Result =>
  opened(path, (read, size) => use({ read, size, meta: metaOf(read, size) }));

/** Whether a profile is one of red, green and blue, for showing, and all its entries lie within it (ICC.1:2022, 7.2 and 7.3). */
function isUsable({ content: profile }: Profile): boolean {
  if (profile.length < HEADER + 4) return false;
  const end = profile.readUInt32BE(0);
  const [kind, colours, connection] = [12, 16, 20].map((at) => profile.toString('latin1', at, at + 4)) as [string, string, string];
  if (profile.toString('latin1', 36, 40) !== 'acsp' || colours !== 'RGB ' || !['XYZ ', 'Lab '].includes(connection)) return false;
  const count = profile.readUInt32BE(HEADER);
  if (['abst', 'link'].includes(kind) || count === 0 || count > MOST_TAGS || HEADER + 4 + 12 * count > end || end > profile.length)
    return false;
  for (let at = HEADER + 4; at < HEADER + 4 + 12 * count; at += 12)
    if (profile.readUInt32BE(at + 4) + profile.readUInt32BE(at + 8) > end) return false;
  return true;
}

/** libpng wants a profile to be as long as it says. */
const isExact = ({ content }: Profile): boolean => content.readUInt32BE(0) === content.length;

const xmpOf = ({ read, meta }: Source): Buffer | undefined => {
  const found = itemOf(read, meta.content, 'mime', 'application/rdf+xml');
  return found === undefined || found.length > MOST_SAID ? undefined : found;
};

/** An item of EXIF says first how many bytes stand before its block (ISO/IEC 23008-12, A.2.1). */
function exifOf({ read, meta }: Source): Buffer | undefined {
  const item = itemOf(read, meta.content, 'Exif');
  if (item === undefined || item.length < 8) return undefined;
  const block = item.subarray(4 + item.readUInt32BE(0));
  const exif = readExif((offset, length) => block.subarray(offset, offset + length));
  return exif && blockOf(exif);
}

/** Boxes keep their places and sizes: properties are counted, and pixels told by offset. */
function mend(input: string, output: string): void {
  copyFileSync(input, output);
  const places = withSource(input, ({ meta }) =>
    profilesIn(meta.content)
      .filter((profile) => !isUsable(profile) || !isExact(profile))
      .map(({ typeAt }) => meta.at + typeAt),
  );
  const file = openSync(output, 'r+');
  for (const place of places) writeAll(file, Buffer.from('free'), place);
  closeSync(file);
}

/** In place of what later versions of the decoder write there: it repeats the orientation. */
function tell(source: Source, decoded: string, output: string): void {
  const [exif, xmp] = [exifOf(source), xmpOf(source)];
  const added = [
    ...(exif === undefined ? [] : [chunk('eXIf', exif)]),
    ...(xmp === undefined ? [] : [chunk('iTXt', Buffer.concat([Buffer.from(XMP_KEYWORD, 'latin1'), xmp]))]),
  ];
  opened(decoded, (read, size) => {
    const file = openSync(output, 'wx');
    // PNG 3, 5.3: length, name, content and a check of each; the first tells the size.
    let at = 8;
    writeAll(file, read(0, at));
    for (let head = read(at, 8); head.length === 8; head = read(at, 8)) {
      const [length, name] = [head.readUInt32BE(0) + 12, head.toString('latin1', 4)];
      if (name === 'IDAT') break;
      if (name !== 'eXIf' && name !== 'iTXt') writeAll(file, read(at, length));
      if (name === 'IHDR') for (const each of added) writeAll(file, each);
      at += length;
    }
    for (; at < size; at += COPIED) writeAll(file, read(at, COPIED));
    closeSync(file);
  });
}

const [verb = '', input = '', ...others] = process.argv.slice(2);
if (verb === 'mend') mend(input, others[0] ?? '');
else
  withSource(input, (source) => {
    if (verb === 'tell') return tell(source, others[0] ?? '', others[1] ?? '');
    const [profile = '', fallback = '', xmp = '', app1 = ''] = others;
    writeFileSync(profile, profilesIn(source.meta.content).find(isUsable)?.content ?? Buffer.from(fallback, 'base64'));
    writeFileSync(xmp, xmpOf(source) ?? NO_XMP);
    const block = exifOf(source);
    return writeFileSync(
      app1,
      Buffer.concat([Buffer.from('Exif\0\0'), block !== undefined && block.length <= MOST_SAID ? block : blockOf(NOTHING)]),
    );
  });
