/**
 * Passes the files and folders of a pax stream on from standard input to standard output, under safe names. Links, devices, owners and special
 * bits are left out. (POSIX.1-2008, pax, "pax Interchange Format" and "ustar Interchange Format")
 */
import { readSync, writeFileSync, writeSync } from 'node:fs';
import { writeAll } from '../../process/write-all.ts';
import { type EntryNames, entryNames } from '../entry-names.ts';
import { type Found, isTooMuch } from './found.ts';
import { decodeEntryName } from './names.ts';

const BLOCK = 512;
const CHUNK = 1 << 20;
/** Size of names, times and extended attributes, which Linux bounds to 64 KiB each. */
const MAX_RECORDS = 8 << 20;

/** Bounds of the stream, and for which system its names are. */
export interface Expected {
  /** Bytes of the whole, for progress; 0: no progress is reported. */
  readonly total: number;
  /** Bytes of all files. */
  readonly most: number;
  /** Whether the result may be unpacked on Windows. */
  readonly forWindows: boolean;
}

/** @returns whether the stream was complete and within its bounds */
export function filter(report: string, expected: Expected): boolean {
  const found: Found = {
    ...{ entries: 0, folders: 0, programs: 0, newest: 0, bytes: 0, most: expected.most, links: 0, hardLinks: 0, sparse: 0 },
    ...{ own: 0, devices: 0, unsafe: 0, guessed: 0, changed: 0, apart: 0, alike: 0, nodes: 0, deepest: 0, longest: 0 },
  };
  const isWhole = copy(found, expected);
  writeFileSync(report, JSON.stringify(found));
  return isWhole;
}

function copy(found: Found, { total, forWindows }: Expected): boolean {
  const input = reader();
  const names = entryNames({ forWindows });
  let records: ReadonlyMap<string, Buffer> = new Map();
  let told = 0;
  for (;;) {
    const header = input.take(BLOCK);
    if (header === undefined) return false;
    if (header.every((byte) => byte === 0)) break;
    const type = String.fromCharCode(header[156] ?? 0);
    const size = sizeOf(records.get('size'), header);
    if (size === undefined) return false;
    if (type === 'x' || type === 'g') {
      const bytes = size <= MAX_RECORDS ? input.take(padded(size)) : undefined;
      if (bytes === undefined) return false;
      if (type === 'x') records = recordsOf(bytes.subarray(0, size));
      continue;
    }
    // Its map of holes is in its content, where no reader of the result would look for it.
    if (records.has('GNU.sparse.major')) found.sparse++;
    const entry = entryOf(type, header, records, found, names);
    Object.assign(found, names.changes);
    records = new Map();
    found.bytes += size;
    if (isTooMuch(found)) return false;
    if (entry !== undefined) {
      count(found, entry);
      reach(found, entry);
      write(headerOf(entry, size));
    }
    if (!input.pass(padded(size), entry === undefined ? undefined : write)) return false;
    if (total > 0 && found.bytes - told >= total / 100) {
      told = found.bytes;
      writeSync(2, `${told} of ${total}\n`);
    }
  }
  write(Buffer.alloc(2 * BLOCK));
  flush();
  // What follows the end is padding.
  while (input.pass(CHUNK));
  return true;
}

function count(found: Found, { isFolder, isExecutable, modifiedAt }: Entry): void {
  found.entries++;
  if (isFolder) found.folders++;
  else {
    if (isExecutable) found.programs++;
    found.newest = Math.max(found.newest, modifiedAt);
  }
}

/** Units of UTF-16 in a name of Joliet. */
const JOLIET_NAME = 103;

/** Counts its folders, and its path as libarchive does for Joliet: with a slash before each name. */
function reach(found: Found, { name, isFolder }: Entry): void {
  const parts = name.split('/');
  found.deepest = Math.max(found.deepest, isFolder ? parts.length : parts.length - 1);
  const length = parts.reduce((sum, part) => sum + 1 + Buffer.byteLength(part.slice(0, JOLIET_NAME)), 0);
  found.longest = Math.max(found.longest, length);
}

interface Entry {
  readonly name: string;
  readonly isFolder: boolean;
  readonly isExecutable: boolean;
  /** s since 1970 */
  readonly modifiedAt: number;
}

/** @returns undefined for an entry that is left out, which is counted */
function entryOf(type: string, header: Buffer, records: ReadonlyMap<string, Buffer>, found: Found, names: EntryNames): Entry | undefined {
  const isFolder = type === '5';
  if (type === '1' || type === '2') {
    found.links++;
    if (type === '1') found.hardLinks++;
  } else if (!isFolder && type !== '0' && type !== '\0' && type !== '7') found.devices++;
  else {
    const { text: told, isGuessed } = decodeEntryName(records.get('path') ?? nameIn(header));
    const name = names.take(told, isFolder);
    if (name === undefined) found.unsafe++;
    // The top folder itself.
    else if (name === '') found.own++;
    else {
      if (isGuessed) found.guessed++;
      const modifiedAt = Math.trunc(Number(records.get('mtime') ?? octal(header, 136, 12) ?? 0)) || 0;
      return {
        name,
        isFolder,
        isExecutable: ((octal(header, 100, 8) ?? 0) & 0o111) !== 0,
        modifiedAt: Math.max(0, modifiedAt),
      };
    }
  }
  return undefined;
}

function nameIn(header: Buffer): Buffer {
  const [prefix, name] = [text(header, 345, 155), text(header, 0, 100)];
  return prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.from('/'), name]);
}

/** Bytes up to the first NUL. */
function text(header: Buffer, at: number, length: number): Buffer {
  const field = header.subarray(at, at + length);
  const end = field.indexOf(0);
  return end < 0 ? field : field.subarray(0, end);
}

function octal(header: Buffer, at: number, length: number): number | undefined {
  const digits = text(header, at, length).toString('latin1').trim();
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : undefined;
}

function sizeOf(told: Buffer | undefined, header: Buffer): number | undefined {
  if (told === undefined) return octal(header, 124, 12);
  const size = Number(told);
  return Number.isSafeInteger(size) && size >= 0 ? size : undefined;
}

/** `LENGTH KEY=VALUE\n` one after the other. */
function recordsOf(bytes: Buffer): ReadonlyMap<string, Buffer> {
  const records = new Map<string, Buffer>();
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = Number(bytes.subarray(at, space).toString('latin1'));
    const equals = bytes.indexOf(0x3d, space);
    if (space < 0 || equals < 0 || !Number.isInteger(length) || length < 5 || at + length > bytes.length) break;
    records.set(bytes.subarray(space + 1, equals).toString('latin1'), bytes.subarray(equals + 1, at + length - 1));
    at += length;
  }
  return records;
}

const padded = (size: number): number => Math.ceil(size / BLOCK) * BLOCK;

/** A header of an entry with its name and size in records before it. */
function headerOf({ name, isFolder, isExecutable, modifiedAt }: Entry, size: number): Buffer {
  const records = Buffer.from(
    record('path', isFolder ? `${name}/` : name) + record('size', String(size)) + record('mtime', String(modifiedAt)),
  );
  const content = Buffer.concat([records, Buffer.alloc(padded(records.length) - records.length)]);
  const mode = isFolder || isExecutable ? 0o755 : 0o644;
  return Buffer.concat([block('x', records.length, 0o644, modifiedAt), content, block(isFolder ? '5' : '0', size, mode, modifiedAt)]);
}

/** Its length counts its own digits. */
function record(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  const digits = String(rest + String(rest).length).length;
  return `${rest + digits} ${key}=${value}\n`;
}

function block(type: string, size: number, mode: number, modifiedAt: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const field = (at: number, length: number, value: number) =>
    header.write((value % 8 ** (length - 1)).toString(8).padStart(length - 1, '0'), at, 'latin1');
  header.write('entry', 0);
  field(100, 8, mode);
  field(108, 8, 0);
  field(116, 8, 0);
  field(124, 12, size);
  field(136, 12, modifiedAt);
  header.write(`        ${type}`, 148, 'latin1');
  header.write('ustar\0', 257, 'latin1');
  header.write('00', 263, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

/** Many small entries are written together. */
const pending = Buffer.allocUnsafe(CHUNK);
let filled = 0;

function write(bytes: Uint8Array): void {
  if (filled + bytes.length > pending.length) flush();
  if (bytes.length > pending.length) writeAll(1, bytes);
  else {
    pending.set(bytes, filled);
    filled += bytes.length;
  }
}

function flush(): void {
  writeAll(1, pending.subarray(0, filled));
  filled = 0;
}

/** Standard input in pieces. */
function reader() {
  const buffer = Buffer.allocUnsafe(CHUNK);
  let [from, to] = [0, 0];
  /** @returns whether there is anything more */
  const fill = (): boolean => {
    if (from < to) return true;
    [from, to] = [0, readSync(0, buffer, 0, CHUNK, null)];
    return to > 0;
  };
  return {
    /** @returns a copy of the next bytes, or undefined where there are not so many */
    take(length: number): Buffer | undefined {
      const taken = Buffer.alloc(length);
      for (let at = 0; at < length; ) {
        if (!fill()) return undefined;
        const piece = buffer.subarray(from, Math.min(to, from + length - at));
        taken.set(piece, at);
        at += piece.length;
        from += piece.length;
      }
      return taken;
    },
    /** @returns whether there were so many */
    pass(length: number, into: (bytes: Uint8Array) => void = () => {}): boolean {
      for (let left = length; left > 0; ) {
        if (!fill()) return false;
        const piece = buffer.subarray(from, Math.min(to, from + left));
        into(piece);
        left -= piece.length;
        from += piece.length;
      }
      return true;
    },
  };
}
