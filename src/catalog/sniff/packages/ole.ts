/** Word, Excel and PowerPoint before 2007, and messages of Outlook: compound files, distinguished by the streams at their root ([MS-CFB]). */
import { asBuffer, has, u8, u16le, u32le } from '../../looks/bytes.ts';
import type { Detected, Sample } from '../../looks/sample.ts';
import { asFormat, asRefused, tie, tieAmong, UNKNOWN } from '../verdict.ts';

const STREAMS: Readonly<Record<string, Detected>> = {
  WordDocument: asFormat('doc'),
  Workbook: asFormat('xls'),
  Book: asFormat('xls'),
  'PowerPoint Document': asFormat('ppt'),
  VisioDocument: asFormat('vsd'),
  '__properties_version1.0': asFormat('msg'),
  Quill: asFormat('pub'),
  MatOST: asFormat('wps'),
  FileHeader: asRefused('Hangul document (HWP)'),
  // A modern document with a password: its kind is encrypted too.
  EncryptedPackage: tieAmong(['docx', 'xlsx', 'pptx'], 'docx'),
};

const ENTRY_BYTES = 128;
/** Higher sector numbers are markers: end of chain, free, none ([MS-CFB] 2.1). */
const LAST_SECTOR = 0xffff_fffa;
const END_OF_CHAIN = 0xffff_fffe;
const NO_STREAM = 0xffff_ffff;
/** Directories of real documents have tens of sectors; the bound ends a cyclic chain. */
const MOST_SECTORS = 512;

export function ole(sample: Sample): Detected | undefined {
  if (!has(sample.head, 0, '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1')) return undefined;
  const { sectors, whole } = directory(sample);
  const { names, missing } = rootNames(sectors);
  const found = Object.keys(STREAMS).find((stream) => names.has(stream));
  if (found !== undefined) return STREAMS[found];
  return whole && !missing ? UNKNOWN : tie('ole', 'doc');
}

interface Entry {
  readonly name: string;
  readonly left: number;
  readonly right: number;
  readonly child: number;
}

/**
 * The names of the root's direct children: a letter with an embedded sheet has a `Workbook` deeper down.
 * @returns missing: whether the tree refers to entries outside the sample
 */
function rootNames(sectors: readonly Uint8Array[]): { names: ReadonlySet<string>; missing: boolean } {
  const entries = sectors.flatMap((sector) =>
    Array.from({ length: sector.length / ENTRY_BYTES }, (_, i) => entryOf(sector, i * ENTRY_BYTES)),
  );
  const names = new Set<string>();
  const seen = new Set<number>();
  const todo = [entries[0]?.child ?? 0];
  let missing = entries.length === 0;
  for (let id = todo.pop(); id !== undefined; id = todo.pop()) {
    if (id === NO_STREAM || seen.has(id)) continue;
    seen.add(id);
    const entry = entries[id];
    if (entry === undefined) {
      missing = true;
      continue;
    }
    names.add(entry.name);
    todo.push(entry.left, entry.right);
  }
  return { names, missing };
}

function entryOf(sector: Uint8Array, at: number): Entry {
  const length = Math.min(64, u16le(sector, at + 64));
  const name = asBuffer(sector).toString('utf16le', at, at + Math.max(0, length - 2));
  return { name, left: u32le(sector, at + 68), right: u32le(sector, at + 72), child: u32le(sector, at + 76) };
}

/** The directory's sectors along their chain. @returns whole: whether the chain was followed to its end within the sample */
function directory(sample: Sample): { sectors: readonly Uint8Array[]; whole: boolean } {
  const shift = u8(sample.head, 30) === 12 ? 12 : 9;
  const sectors: Uint8Array[] = [];
  let sector = u32le(sample.head, 48);
  while (sector < LAST_SECTOR && sectors.length < MOST_SECTORS) {
    const bytes = sectorAt(sample, sector, shift);
    if (bytes === undefined) return { sectors, whole: false };
    sectors.push(bytes);
    const next = nextSector(sample, sector, shift);
    if (next === undefined) return { sectors, whole: false };
    sector = next;
  }
  return { sectors, whole: sector === END_OF_CHAIN };
}

/** The next sector of a chain, from the allocation table. The header lists the table's first 109 sectors, enough for 7 MB of small sectors. */
function nextSector(sample: Sample, sector: number, shift: number): number | undefined {
  const perSector = 2 ** (shift - 2);
  const index = Math.floor(sector / perSector);
  if (index >= 109) return undefined;
  const table = sectorAt(sample, u32le(sample.head, 76 + 4 * index), shift);
  return table === undefined ? undefined : u32le(table, (sector % perSector) * 4);
}

function sectorAt({ head, tail, size }: Sample, sector: number, shift: number): Uint8Array | undefined {
  const length = 2 ** shift;
  const at = (sector + 1) * length;
  if (at + length <= head.length) return head.subarray(at, at + length);
  const inTail = at - (size - tail.length);
  return inTail >= 0 && inTail + length <= tail.length ? tail.subarray(inTail, inTail + length) : undefined;
}
