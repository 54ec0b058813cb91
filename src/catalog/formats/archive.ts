/** Archives: files in folders, together in one file. */
import { latin1 } from '../looks/bytes.ts';
import type { Sample } from '../looks/sample.ts';
import { type Format, format } from './format.ts';

/** Where a few letters at the beginning could be those of a text, what follows them counts too. */
const begins =
  (pattern: RegExp) =>
  ({ head }: Sample): boolean =>
    pattern.test(latin1(head, 0, 110));

const TAR = { holds: 'many', kin: 'tar' } as const;

/** A header block whose checksum is right, of a TAR before POSIX gave it a signature (tar(5), "Old-Style Archive Format"). */
function hasChecksum({ head, size }: Sample): boolean {
  if (size < 1024 || head[0] === 0) return false;
  const [octal = ''] = String.fromCharCode(...head.subarray(148, 156)).split(/[\0 ]/, 1);
  if (!/^[0-7]{1,7}$/.test(octal)) return false;
  const sum = head.subarray(0, 512).reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  return sum === Number.parseInt(octal, 8);
}

export const archives: readonly Format[] = [
  // What its parts are may make it another format (sniff/zip.ts).
  format('archive', 'zip', 'ZIP archive', 'application/zip', {
    search: {
      en: 'compressed folder, unzip, pack',
      de: 'komprimierter Ordner, entpacken, packen',
      es: 'carpeta comprimida, descomprimir, empaquetar',
    },
    holds: 'many',
    aliases: ['jar'],
    writtenAs: 'PK\x03\x04',
  }),
  // A ZIP of pictures: its name alone tells it from others.
  format('archive', 'cbz', 'Comic book archive', 'application/vnd.comicbook+zip', {
    search: { en: 'comic, manga', de: 'Comic, Manga', es: 'cómic, manga' },
    holds: 'many',
    writtenAs: 'PK\x03\x04',
  }),
  format('archive', 'tar', 'Tape archive', 'application/x-tar', {
    ...TAR,
    aliases: ['cbt'],
    signatures: [[[257, 'ustar']]],
    looks: hasChecksum,
  }),
  // Whether a compressed file is a TAR is known only when it is unpacked (sniff/packed.ts).
  format('archive', 'tgz', 'Tape archive, gzip', 'application/gzip', {
    search: { en: 'unpack, linux', de: 'entpacken, Linux', es: 'descomprimir, Linux' },
    ...TAR,
    aliases: ['tar.gz', 'taz', 'gz'],
  }),
  format('archive', 'tbz2', 'Tape archive, bzip2', 'application/x-bzip2', {
    ...TAR,
    aliases: ['tar.bz2', 'tbz', 'tb2', 'bz2'],
    looks: begins(/^BZh[1-9](?:1AY&SY|\x17rE8P\x90)/),
  }),
  format('archive', 'txz', 'Tape archive, xz', 'application/x-xz', { ...TAR, aliases: ['tar.xz', 'xz'], signatures: ['\xfd7zXZ\0'] }),
  format('archive', 'tzst', 'Tape archive, Zstandard', 'application/zstd', {
    ...TAR,
    aliases: ['tar.zst', 'zst'],
    signatures: ['\x28\xb5\x2f\xfd'],
  }),
  format('archive', 'tlz4', 'Tape archive, LZ4', 'application/x-lz4', {
    ...TAR,
    aliases: ['tar.lz4', 'lz4'],
    signatures: ['\x04\x22\x4d\x18'],
  }),
  format('archive', 'tlz', 'Tape archive, lzip', 'application/x-lzip', { ...TAR, aliases: ['tar.lz', 'lz'], signatures: ['LZIP\x01'] }),
  format('archive', '7z', '7-Zip archive', 'application/x-7z-compressed', {
    search: { en: 'unpack', de: 'entpacken', es: 'descomprimir' },
    holds: 'many',
    aliases: ['cb7'],
    signatures: ['7z\xbc\xaf\x27\x1c'],
  }),
  // Versions 1.5 and 5.
  format('archive', 'rar', 'RAR archive', 'application/vnd.rar', {
    search: { en: 'unrar, unpack, winrar', de: 'entpacken, WinRAR', es: 'descomprimir, WinRAR' },
    holds: 'many',
    aliases: ['cbr'],
    signatures: ['Rar!\x1a\x07\0', 'Rar!\x1a\x07\x01\0'],
  }),
  format('archive', 'iso', 'CD and DVD image', 'application/x-iso9660-image', {
    search: { en: 'disc, burn', de: 'Datenträger, brennen', es: 'disco, grabar' },
    holds: 'many',
    signatures: [[[32_769, 'CD001']]],
  }),
  format('archive', 'cpio', 'cpio archive', 'application/x-cpio', {
    holds: 'many',
    looks: begins(/^(?:07070[12][0-9a-f]{104}|070707[0-7]{70})/i),
  }),
  format('archive', 'deb', 'Debian package', 'application/vnd.debian.binary-package', {
    holds: 'many',
    aliases: ['udeb'],
    signatures: ['!<arch>\ndebian-binary'],
  }),
  // libarchive cannot pass its members on: GNU ar writes no file types.
  format('archive', 'ar', 'Unix library archive', 'application/x-archive', { holds: 'many', aliases: ['a'], signatures: ['!<arch>\n'] }),
  format('archive', 'rpm', 'RPM package', 'application/x-rpm', { holds: 'many', signatures: ['\xed\xab\xee\xdb'] }),
  format('archive', 'cab', 'Windows cabinet', 'application/vnd.ms-cab-compressed', { holds: 'many', signatures: ['MSCF\0\0\0\0'] }),
  format('archive', 'lha', 'LHA archive', 'application/x-lzh-compressed', {
    holds: 'many',
    aliases: ['lzh'],
    // The level of the header is behind the method.
    looks: ({ head }) => /^..-lh[014567d]-/s.test(latin1(head, 0, 7)) && (head[20] ?? 255) <= 3,
  }),
];
