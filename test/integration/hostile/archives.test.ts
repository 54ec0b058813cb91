/** Archives made to write elsewhere, to fill a disk, or to be taken for something else. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { afterAll, expect } from 'vitest';
import { latin1 } from '../../kit/catalog/bytes.ts';
import { filesOf, readFiles, unpack, writeArchive } from '../../kit/fixtures/archives.ts';
import { type Case, type Ground, type Mutated, proveHarmless, proveMutationsHarmless } from './hostile.ts';

const home = mkdtempSync(join(tmpdir(), 'hostile-archives-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const aFolder = () => mkdtempSync(join(home, 'a-'));

const zip = readFileSync(writeArchive('zip', filesOf('zip', 'honest'), aFolder()));

interface Entry {
  readonly name: string | Buffer;
  readonly type?: string;
  readonly content?: Buffer;
  readonly link?: string;
  readonly size?: string;
  readonly mode?: string;
}

/** A TAR by hand, whose headers may say anything. */
function tar(entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ name, type = '0', content = Buffer.alloc(0), link = '', size, mode = '0000644' }) => {
    const header = Buffer.alloc(512);
    Buffer.from(name).copy(header, 0, 0, 100);
    header.write(
      `${mode}\0${'0000000\0'.repeat(2)}${size ?? content.length.toString(8).padStart(11, '0')}\0${'0'.repeat(11)}\0        ${type}`,
      100,
    );
    header.write(link, 157);
    header.write('ustar\x0000', 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    return [header, content, Buffer.alloc((512 - (content.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

/** A ZIP whose entries all share the bytes of one. */
function overlapping(count: number, packed: Buffer, size: number): Buffer {
  const sum = crc32(Buffer.alloc(size));
  const head = (signature: string, name: string, central: boolean): Buffer => {
    const bytes = Buffer.alloc(central ? 46 : 30);
    bytes.write(signature, 'latin1');
    const at = central ? 2 : 0;
    bytes.writeUInt16LE(20, 4);
    bytes.writeUInt16LE(8, 8 + at);
    bytes.writeUInt32LE(sum, 14 + at);
    bytes.writeUInt32LE(packed.length, 18 + at);
    bytes.writeUInt32LE(size, 22 + at);
    bytes.writeUInt16LE(name.length, 26 + at);
    return Buffer.concat([bytes, latin1(name)]);
  };
  const local = Buffer.concat([head('PK\x03\x04', 'a', false), packed]);
  const central = Buffer.concat(Array.from({ length: count }, (_, at) => head('PK\x01\x02', `${at}`, true)));
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}

const ground: Ground = { honest: { name: 'honest.zip', bytes: zip, to: 'tar' } };
const KEPT = { name: 'kept.txt', content: Buffer.from('kept') } as const;

/** What another program finds in the result. */
const contains =
  (...names: readonly string[]) =>
  (output: Buffer): void => {
    const folder = aFolder();
    writeFileSync(join(folder, 'result.zip'), output);
    unpack(join(folder, 'result.zip'), 'zip', join(folder, 'into'));
    expect(Object.keys(readFiles(join(folder, 'into'))).toSorted()).toEqual([...names].toSorted());
  };
const as = (name: string, entries: readonly Entry[], ...left: readonly string[]): Case => ({
  name,
  file: tar([...entries, KEPT]),
  as: 'a.tar',
  to: 'zip',
  ends: 'neutral',
  judge: contains(...left, KEPT.name),
});
const evil = Buffer.from('evil');

const NAMES: readonly Case[] = [
  as('a name that climbs', [{ name: '../../../tmp/filemill-was-here', content: evil }]),
  as('a name that climbs in its midst', [{ name: 'a/../../b', content: evil }]),
  as('a name that climbs by backslashes', [{ name: '..\\..\\b', content: evil }]),
  as('an absolute name', [{ name: '/etc/cron.d/x', content: evil }], 'etc/cron.d/x'),
  as('a drive', [{ name: 'C:/windows/x', content: evil }], 'windows/x'),
  as('a name with a line break', [{ name: 'a\nb', content: evil }], 'a_b'),
  as('a name like an option', [{ name: '--checkpoint-action=exec=sh', content: evil }], '--checkpoint-action=exec=sh'),
  as('a name in no encoding', [{ name: latin1('\x81.txt'), content: evil }], 'ü.txt'),
  as(
    'names of devices on Windows',
    [
      { name: 'aux/con.txt', content: evil },
      { name: 'COM1', content: evil },
    ],
    '_aux/_con.txt',
    '_COM1',
  ),
  as('a link out of the archive', [{ name: 'out', type: '2', link: '/etc/passwd' }]),
  as(
    'a folder that is a link, and a file in it',
    [
      { name: 'out', type: '2', link: '/tmp' },
      { name: 'out/x', content: evil },
    ],
    'out/x',
  ),
  as('a hard link to what is not in it', [{ name: 'out', type: '1', link: '/etc/shadow' }]),
  as('devices and a pipe', [
    { name: 'sda', type: '4' },
    { name: 'tty', type: '3' },
    { name: 'pipe', type: '6' },
  ]),
];

const BOMBS: readonly Case[] = [
  {
    name: 'a gigabyte of zeros',
    // In members, as gzip(1) joins them.
    file: () => {
      const zeros = gzipSync(Buffer.alloc(100_000_000));
      return Buffer.concat([gzipSync(tar([{ name: 'x', size: (1_000_000_000).toString(8).padStart(11, '0') }])), ...Array(10).fill(zeros)]);
    },
    as: 'a.tgz',
    to: 'zip',
    ends: 'fail',
    why: 'input_limit',
  },
  {
    name: 'a file of 400 MB in 400 kB',
    file: () => gzipSync(tar([{ name: 'x', content: Buffer.alloc(400_000_000) }])),
    as: 'a.tgz',
    to: 'zip',
    ends: 'fail',
    why: 'input_limit',
    limit: 'unpacked_bytes',
  },
  {
    name: 'a small file before 700 MB of zeros that belong to no file',
    file: () => Buffer.concat([gzipSync(tar([KEPT])), ...Array(7).fill(gzipSync(Buffer.alloc(100_000_000)))]),
    as: 'a.tgz',
    to: 'zip',
    ends: 'fail',
    why: 'input_limit',
  },
  {
    name: '30 000 entries that share their bytes',
    file: overlapping(30_000, deflateRawSync(Buffer.alloc(1_000_000)), 1_000_000),
    as: 'a.zip',
    to: 'tar',
    // libarchive takes them for one.
    ends: ['neutral', 'fail'],
    why: ['input_limit', 'corrupt_input'],
  },
  {
    name: '150 000 empty files',
    file: () => gzipSync(tar(Array.from({ length: 150_000 }, (_, at) => ({ name: `f${at}` })))),
    as: 'a.tgz',
    to: 'zip',
    ends: 'fail',
    why: 'input_limit',
  },
  {
    name: '150 000 links',
    file: () => gzipSync(tar(Array.from({ length: 150_000 }, (_, at) => ({ name: `f${at}`, type: '2', link: 'x' })))),
    as: 'a.tgz',
    to: 'zip',
    ends: 'fail',
    why: 'input_limit',
  },
  {
    name: 'nothing but links',
    file: tar([{ name: 'a', type: '2', link: 'b' }]),
    as: 'a.tar',
    to: 'zip',
    ends: 'fail',
    why: 'corrupt_input',
  },
];

/** mtree(5), which libarchive reads too. */
const LIST = '#mtree\n./x type=file contents=/etc/passwd\n';

const LIES: readonly Case[] = [
  {
    name: 'a size of eight exabytes',
    file: tar([{ name: 'x', size: '777777777777777777777'.slice(0, 11), content: evil }]),
    as: 'a.tar',
    to: 'zip',
    ends: 'fail',
    why: 'corrupt_input',
  },
  {
    name: 'a Debian package of a list of files of the disk',
    file: () => {
      const folder = aFolder();
      writeFileSync(join(folder, 'debian-binary'), '2.0\n');
      writeFileSync(join(folder, 'data.tar'), LIST);
      execFileSync('ar', ['rcS', 'a.deb', 'debian-binary', 'data.tar'], { cwd: folder });
      return readFileSync(join(folder, 'a.deb'));
    },
    as: 'a.deb',
    to: 'zip',
    ends: 'fail',
    why: ['unsupported_variant', 'corrupt_input'],
  },
  {
    name: 'a list of files of the disk, compressed within an ISO image',
    file: () => {
      const image = Buffer.alloc(40_000);
      gzipSync(LIST).copy(image);
      image.write('CD001', 32_769);
      return image;
    },
    as: 'a.iso',
    to: 'zip',
    ends: 'fail',
    why: ['unsupported_variant', 'corrupt_input'],
  },
  ...(['zip', 'tgz'] as const).map(
    (as): Case => ({
      name: `a damaged file in it, ${as}, whose name says that it is encrypted`,
      file: () => {
        const folder = aFolder();
        const name = 'encrypted, not supported.txt';
        writeFileSync(join(folder, name), Array.from({ length: 4_000 }, (_, n) => (n * 7919) % 10_007).join());
        execFileSync('bsdtar', ['-acf', `a.${as}`, name], { cwd: folder });
        const bytes = readFileSync(join(folder, `a.${as}`));
        const middle = bytes.length >> 1;
        return bytes.fill((bytes[middle] ?? 0) ^ 1, middle, middle + 1);
      },
      as: `a.${as}`,
      to: 'tar',
      ends: 'fail',
      why: 'corrupt_input',
    }),
  ),
  {
    name: 'a file that is packed by a method that is not known here',
    file: () => {
      const bytes = Buffer.from(zip);
      // Deflate64 (APPNOTE 4.4.5), before the file and in the directory.
      for (const [signature, at] of [
        ['PK\x03\x04', 8],
        ['PK\x01\x02', 10],
      ] as const)
        for (let head = bytes.indexOf(signature, 0, 'latin1'); head >= 0; head = bytes.indexOf(signature, head + 4, 'latin1'))
          if (bytes.readUInt16LE(head + at) === 8) bytes.writeUInt16LE(9, head + at);
      return bytes;
    },
    as: 'a.zip',
    to: 'tar',
    ends: 'fail',
    why: 'unsupported_variant',
  },
  {
    name: 'a file that is encrypted, without its password',
    file: () => {
      const folder = aFolder();
      writeFileSync(join(folder, 'a.txt'), 'a secret');
      execFileSync('zip', ['-q', '-P', 'secret', 'a.zip', 'a.txt'], { cwd: folder });
      return readFileSync(join(folder, 'a.zip'));
    },
    as: 'a.zip',
    to: 'tar',
    ends: 'fail',
    why: 'password_required',
  },
  {
    name: 'a file with holes',
    file: () => {
      const folder = aFolder();
      execFileSync('truncate', ['-s', '1M', 'holes'], { cwd: folder });
      execFileSync('tar', ['-S', '-cf', 'a.tar', 'holes'], { cwd: folder });
      return readFileSync(join(folder, 'a.tar'));
    },
    as: 'a.tar',
    to: 'zip',
    ends: 'fail',
    why: 'unsupported_variant',
  },
  ...(['bzip2', 'xz', 'zstd', 'lz4', 'lzip'] as const).map(
    (program): Case => ({
      name: `a list of files of the disk, by ${program}`,
      file: () => execFileSync(program, ['-c'], { input: LIST }),
      as: 'a.tar',
      to: 'zip',
      ends: 'fail',
      why: 'unsupported_variant',
    }),
  ),
  {
    name: 'a list of files of the disk before an ISO image',
    file: () => {
      const image = readFileSync(writeArchive('iso', filesOf('iso', 'honest'), aFolder()));
      image.write(LIST);
      return image;
    },
    as: 'a.iso',
    to: 'zip',
    ends: 'fail',
    why: 'unsupported_variant',
  },
  {
    name: 'a TAR that is cut off between two files',
    file: tar([KEPT]).subarray(0, -1024),
    as: 'a.tar',
    to: 'zip',
    ends: 'neutral',
    judge: (_, answer) => expect(answer.data?.warnings.map(({ code }) => code)).toContain('file_cut_off'),
  },
  {
    name: 'a ZIP that is cut off',
    file: zip.subarray(0, Math.floor(zip.length / 2)),
    as: 'a.zip',
    to: 'tar',
    ends: 'fail',
    why: ['corrupt_input', 'unsupported_variant'],
  },
];

proveHarmless(ground, { 'a name in an archive': NAMES, 'an archive that is larger than it seems': BOMBS, 'an archive that lies': LIES });

const sources: readonly Mutated[] = ['zip', '7z', 'iso', 'cab', 'rar'].map((source) => ({
  source,
  to: source === 'zip' ? 'tar' : 'zip',
  bytes: (folder) => readFile(writeArchive(source, filesOf(source, 'seed'), folder)),
}));
proveMutationsHarmless(ground, sources, 6);
