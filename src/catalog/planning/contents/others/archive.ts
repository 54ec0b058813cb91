/** What an archive has, by its directory or its headers: ZIP (APPNOTE 6.3.10), TAR (POSIX.1-2008, pax), also packed by gzip or Zstandard, and cpio. */
import { zstdDecompressSync } from 'node:zlib';
import { latin1, u8 } from '../../../looks/bytes.ts';
import type { Pieces } from '../../pieces.ts';
import { MOST_MEASURED, Unmeasured, unpacked, wholeOf } from '../bytes.ts';
import { partsIn } from '../package.ts';

export interface ArchiveFacts {
  readonly files: number;
  readonly folders: number;
  /** Symbolic and hard. */
  readonly links: number;
  /** Time of the newest entry, in UTC, `2024-05-06 07:08:10`; '' where no entry has one. */
  readonly newest: string;
  /** Files that may be run. */
  readonly programs: number;
  /** Size of all files, unpacked. */
  readonly bytes: number;
}

/** APPNOTE 4.4.15, and stat(2): bits of the type of a file. */
const [TYPE, FOLDER, LINK] = [0o170000, 0o040000, 0o120000];
const RUNS = 0o111;

export function zipArchive(file: Pieces): ArchiveFacts {
  const facts = { files: 0, folders: 0, links: 0, programs: 0, bytes: 0 };
  let newest = 0;
  for (const { name, mode, time, size } of partsIn(file)) {
    const isFolder = name.endsWith('/') || (mode & TYPE) === FOLDER;
    if ((mode & TYPE) === LINK) facts.links++;
    else if (isFolder) facts.folders++;
    else {
      facts.files++;
      facts.bytes += size;
      if ((mode & RUNS) !== 0) facts.programs++;
      newest = Math.max(newest, time);
    }
  }
  return { ...facts, newest: newest === 0 ? '' : fromDos(newest) };
}

/** Two seconds are the least that it tells apart (4.4.6). */
function fromDos(time: number): string {
  const [date, clock] = [time >>> 16, time & 0xffff];
  const two = (value: number) => String(value).padStart(2, '0');
  const day = [(date >> 9) + 1980, two((date >> 5) & 15), two(date & 31)].join('-');
  return `${day} ${[clock >> 11, (clock >> 5) & 63, (clock & 31) * 2].map(two).join(':')}`;
}

const PACKERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  tar: (bytes) => bytes,
  tgz: (bytes) => unpacked(bytes, 'gzip'),
  tzst: unpackedZstd,
};

function unpackedZstd(bytes: Buffer): Buffer {
  try {
    return zstdDecompressSync(bytes, { maxOutputLength: MOST_MEASURED });
  } catch (cause) {
    throw new Unmeasured('cannot be unpacked', { cause });
  }
}

const BLOCK = 512;

export function tarArchive(format: string, file: Pieces): ArchiveFacts {
  const bytes = PACKERS[format]?.(wholeOf(file)) ?? wholeOf(file);
  const facts = { files: 0, folders: 0, links: 0, programs: 0, bytes: 0 };
  let newest = 0;
  for (let at = 0; at + BLOCK <= bytes.length; ) {
    const header = bytes.subarray(at, at + BLOCK);
    if (u8(header, 0) === 0) break;
    const [mode, size, time] = [octal(header, 100, 8), octal(header, 124, 12), octal(header, 136, 12)];
    if (!(size >= 0)) throw new Unmeasured('no header');
    const type = latin1(header, 156, 1);
    if (type === '1' || type === '2') facts.links++;
    else if (type === '5') facts.folders += isTop(header) ? 0 : 1;
    else if (type === '0' || type === '\0' || type === '7') {
      facts.files++;
      facts.bytes += size;
      if ((mode & RUNS) !== 0) facts.programs++;
      newest = Math.max(newest, time);
    }
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return { ...facts, newest: dateOf(newest) };
}

/** The folder that all others are in. */
const isTop = (header: Buffer): boolean => /^\.?\/?\0/.test(latin1(header, 0, 4));

/** Above 8 GiB, GNU tar has binary numbers: those are not read. */
const octal = (header: Buffer, at: number, length: number): number =>
  Number.parseInt(latin1(header, at, length).trim().replace(/\0.*/s, '') || '0', 8);
/** @param seconds since 1970 @returns as `ArchiveFacts` has it */
export const dateOf = (seconds: number): string =>
  seconds === 0 ? '' : new Date(Math.min(seconds, 1e11) * 1_000).toISOString().slice(0, 19).replace('T', ' ');

/** The newer ASCII format of cpio(5). */
export function cpioArchive(file: Pieces): ArchiveFacts {
  const bytes = wholeOf(file);
  const facts = { files: 0, folders: 0, links: 0, programs: 0, bytes: 0 };
  let newest = 0;
  for (let at = 0; latin1(bytes, at, 5) === '07070'; ) {
    const field = (index: number) => Number.parseInt(latin1(bytes, at + 6 + 8 * index, 8), 16);
    const [mode, time, size, nameBytes] = [field(1), field(5), field(6), field(11)];
    if (!(size >= 0 && nameBytes > 0)) throw new Unmeasured('no header');
    if (latin1(bytes, at + 110, nameBytes - 1) === 'TRAILER!!!') break;
    if ((mode & TYPE) === LINK) facts.links++;
    else if ((mode & TYPE) === FOLDER) facts.folders++;
    else {
      facts.files++;
      facts.bytes += size;
      if ((mode & RUNS) !== 0) facts.programs++;
      newest = Math.max(newest, time);
    }
    at += four(110 + nameBytes) + four(size);
  }
  return { ...facts, newest: dateOf(newest) };
}
const four = (value: number): number => Math.ceil(value / 4) * 4;
