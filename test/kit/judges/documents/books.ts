/** The text of e-books, taken out without calibre: their containers are parsed and decompressed here. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inflateSync } from 'node:zlib';
import { expect } from 'vitest';
import { textOfXml, unzip } from './text.ts';

interface Found {
  readonly text: string;
  readonly raw: string;
}
type Reader = (path: string) => Promise<Found>;

/** The records of a Palm database (MobileRead wiki, "PDB"). */
function recordsOf(bytes: Buffer): readonly Buffer[] {
  const offsets = Array.from({ length: bytes.readUInt16BE(76) }, (_, at) => bytes.readUInt32BE(78 + 8 * at));
  return offsets.map((start, at) => bytes.subarray(start, offsets[at + 1]));
}

/** MobileRead wiki, "PalmDOC": bytes that stand for themselves, runs of them, a blank with a letter, and what was there before. */
function unpacked(record: Buffer): Buffer {
  const out: number[] = [];
  for (let at = 0; at < record.length; ) {
    const byte = record.readUInt8(at++);
    if (byte >= 1 && byte <= 8) for (const end = at + byte; at < end; ) out.push(record.readUInt8(at++));
    else if (byte < 0x80) out.push(byte);
    else if (byte >= 0xc0) out.push(0x20, byte ^ 0x80);
    else {
      const pair = ((byte << 8) | record.readUInt8(at++)) & 0x3fff;
      for (let left = (pair & 7) + 3; left > 0; left--) out.push(out[out.length - (pair >> 3)] ?? 0);
    }
  }
  return Buffer.from(out);
}

/** Without the entries at the end of a text record: each ends with its size, in groups of seven bits from the back; the first flag means a cut letter. */
function withoutTrailers(record: Buffer, flags: number): Buffer {
  let end = record.length;
  for (let bits = flags >> 1; bits > 0; bits >>= 1) {
    if ((bits & 1) === 0) continue;
    let [size, shift] = [0, 0];
    for (let at = end - 1; at >= 0; at--, shift += 7) {
      size |= (record.readUInt8(at) & 0x7f) << shift;
      if (record.readUInt8(at) & 0x80) break;
    }
    end -= size;
  }
  if (flags & 1) end -= (record.readUInt8(end - 1) & 3) + 1;
  return record.subarray(0, end);
}

const palm =
  (type: string, version?: number): Reader =>
  async (path) => {
    const bytes = await readFile(path);
    expect(bytes.toString('latin1', 60, 68)).toBe(type);
    const [header = Buffer.alloc(0), ...records] = recordsOf(bytes);
    if (version !== undefined) expect(header.readUInt32BE(36)).toBe(version);
    // There only where the header is long enough to have it.
    const flags = version !== undefined && header.readUInt32BE(20) >= 0xe4 ? header.readUInt16BE(0xf2) : 0;
    const parts = records.slice(0, header.readUInt16BE(8)).map((record) => {
      const text = withoutTrailers(record, flags);
      return header.readUInt16BE(0) === 1 ? text : unpacked(text);
    });
    const utf8 = version !== undefined && header.readUInt32BE(28) === 65_001;
    const raw = Buffer.concat(parts).toString(utf8 ? 'utf8' : 'latin1');
    return { text: version === undefined ? raw : textOfXml(raw), raw };
  };

/** A file's compressed passages, one after the other, wherever they stand. */
function inflated(bytes: Buffer): readonly Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length - 2; at++) {
    // A zlib header: deflated, whatever the window, and its check (RFC 1950, 2.2).
    if ((bytes.readUInt8(at) & 15) !== 8 || bytes.readUInt16BE(at) % 31 !== 0) continue;
    try {
      found.push(inflateSync(bytes.subarray(at)));
    } catch {
      // No passage begins here.
    }
  }
  return found;
}

const zipped =
  (part: RegExp, textOf: (raw: string) => string): Reader =>
  async (path) => {
    const all = await unzip(await readFile(path));
    const name = [...all.keys()].find((each) => part.test(each));
    expect(name, `${path} has no ${part}`).toBeDefined();
    const raw = all.get(name ?? '')?.toString() ?? '';
    return { text: textOf(raw), raw };
  };

export const books: Readonly<Record<string, Reader>> = {
  mobi: palm('BOOKMOBI', 6),
  azw3: palm('BOOKMOBI', 8),
  prc: palm('TEXtREAd'),
  htmlz: zipped(/^index\.html$/, textOfXml),
  txtz: zipped(/^index\.txt$/, (raw) => raw),
  // Tags, and letters by their number in Windows-1252 or Unicode.
  pmlz: zipped(/^[^/]+\.pml$/, (raw) => raw.replaceAll(/\\(?:a\d{3}|U[\da-f]{4})/gi, '?').replaceAll(/\\[A-Za-z]\d?(?:="[^"]*")?/g, '')),
  async rb(path) {
    const bytes = await readFile(path);
    expect(bytes.toString('hex', 0, 4)).toBe('b00cb00c');
    const raw = inflated(bytes).map(String).join('\n');
    return { text: textOfXml(raw), raw };
  },
  async lrf(path) {
    const bytes = await readFile(path);
    expect(bytes.toString('utf16le', 0, 6)).toBe('LRF');
    // Texts stand between tags of two bytes each, of which the second is 0xF5; one of them is followed by the length.
    const raw = inflated(bytes)
      .map((passage) => passage.toString('utf16le').replaceAll(/\uf5cc[\s\S]|[\uf500-\uf5ff]|[^\p{L}\p{N}\p{P} ]/gu, '\n'))
      .join('\n');
    return { text: raw, raw };
  },
  /** Encrypted by a separate key and compressed by LZX, which no other program here reads: its parts are named, and calibre tells its text. */
  async lit(path) {
    const bytes = await readFile(path);
    expect(bytes.toString('latin1', 0, 8)).toBe('ITOLITLS');
    const text = await textByCalibre(path);
    return { text, raw: text };
  },
};

async function textByCalibre(path: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'filemill-judge-'));
  try {
    const text = join(folder, 'book.txt');
    const env = { ...process.env, CALIBRE_CONFIG_DIRECTORY: join(folder, 'settings') };
    await promisify(execFile)('ebook-convert', [path, text], { timeout: 120_000, env });
    return await readFile(text, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
