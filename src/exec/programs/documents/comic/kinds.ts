/** What a file of a comic book is, by how it begins. */

interface Kind {
  /** As the catalogue calls it. */
  readonly format: string;
  /** A PDF can contain it as it is: JPEG, and PNG without transparency whose rows follow each other (PDF 32000-1, 7.4.4 and 7.4.8). */
  readonly isPlain: boolean;
  /** No program reads it here. */
  readonly isUnread: boolean;
}

const PNG = '\x89PNG\r\n\x1a\n';
/** By bytes at an offset: those that are decoded, and those that are not read. */
const OTHERS: readonly (readonly [format: string, at: number, bytes: string, isUnread?: boolean])[] = [
  ['gif', 0, 'GIF8'],
  ['webp', 8, 'WEBP'],
  ['bmp', 0, 'BM'],
  ['tiff', 0, 'II*\0'],
  ['tiff', 0, 'MM\0*'],
  ['avif', 4, 'ftypavif', true],
  ['heic', 4, 'ftyphei', true],
  ['jxl', 0, '\xff\x0a', true],
  ['jxl', 4, 'JXL ', true],
];

/** @returns undefined for what is no picture, such as the notes of a library */
export function kindOf(bytes: Buffer): Kind | undefined {
  const has = (at: number, text: string) => bytes.toString('latin1', at, at + text.length) === text;
  if (has(0, '\xff\xd8\xff')) return { format: 'jpg', isPlain: true, isUnread: false };
  if (has(0, PNG)) return { format: 'png', isPlain: isPlainPng(bytes), isUnread: false };
  const other = OTHERS.find(([, at, text]) => has(at, text));
  return other && { format: other[0], isPlain: false, isUnread: other[3] ?? false };
}

/** Without transparency, and not interlaced (PNG, third edition, 11.2.1 and 11.3.1.1). */
function isPlainPng(bytes: Buffer): boolean {
  if (bytes.length < 33) return false;
  const [colours, interlaced] = [bytes.readUInt8(25), bytes.readUInt8(28)];
  if ((colours & 4) !== 0 || interlaced !== 0) return false;
  for (let at = 33; at + 8 <= bytes.length; at += bytes.readUInt32BE(at) + 12) {
    const chunk = bytes.toString('latin1', at + 4, at + 8);
    if (chunk === 'tRNS') return false;
    if (chunk === 'IDAT') break;
  }
  return true;
}
