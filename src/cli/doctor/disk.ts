/** The disks of the data folder and of conversions. */
import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { humanSize } from '../../api/jobs/view.ts';
import { broken, type Finding, fine, weak } from './finding.ts';

export interface DiskFacts {
  readonly path: string;
  readonly setting: string;
  readonly freeBytes: number;
  /** Undefined where the file system has no fixed number of them. */
  readonly freeFiles: number | undefined;
  readonly kind: 'disk' | 'memory' | 'network';
  readonly isWritable: boolean;
  /** Below so many free bytes new work is refused. */
  readonly leastBytes: number;
}

/** Magic numbers of statfs(2). */
const KINDS: ReadonlyMap<number, DiskFacts['kind']> = new Map([
  [0x01021994, 'memory'],
  [0x858458f6, 'memory'],
  [0x6969, 'network'],
  [0xff534d42, 'network'],
  [0xfe534d42, 'network'],
  [0x01021997, 'network'],
]);
const FEW_FILES = 10_000;

/** @param path need not exist yet @param leastBytes undefined: as `storage.minFreeBytes` has it unset */
export function readDisk(path: string, setting: string, leastBytes?: number): DiskFacts {
  let there = path;
  while (!existsSync(there) && there !== dirname(there)) there = dirname(there);
  const { bavail, blocks, bsize, files, ffree, type } = statfsSync(there);
  return {
    path,
    setting,
    freeBytes: bavail * bsize,
    freeFiles: files === 0 ? undefined : ffree,
    kind: KINDS.get(type) ?? 'disk',
    isWritable: isWritable(there),
    leastBytes: leastBytes ?? Math.min(1 << 30, Math.floor(blocks * bsize * 0.05)),
  };
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** @param check `disk` for the data folder, `work-disk` for the folder of conversions */
export function judgeDisk(
  check: string,
  { path, setting, freeBytes, freeFiles, kind, isWritable: writable, leastBytes }: DiskFacts,
): Finding {
  const facts = { path, free_bytes: freeBytes, free_files: freeFiles ?? null, kind, least_bytes: leastBytes };
  const free = `${humanSize(freeBytes)} are free in ${path}`;
  const room = `make room, or set ${setting} to a folder on a larger disk`;
  if (!writable)
    return broken(
      check,
      `${path} cannot be written by this user`,
      `run this as the service’s user, or change the folder’s owner; ${setting} names another`,
      facts,
    );
  if (freeBytes < leastBytes) return broken(check, `${free}: below ${humanSize(leastBytes)}, new work is refused with 503`, room, facts);
  if (freeFiles !== undefined && freeFiles < FEW_FILES)
    return broken(check, `the file system of ${path} has room for ${freeFiles} more files`, room, facts);
  if (kind === 'memory')
    return weak(
      check,
      `${free}, which is memory: what is stored is gone after a restart, and counts as memory`,
      `set ${setting} to a folder on a disk`,
      facts,
    );
  if (kind === 'network' && check === 'disk')
    return weak(
      check,
      `${free}, on a file system of the network: SQLite’s locks may not hold there (https://sqlite.org/howtocorrupt.html)`,
      `set ${setting} to a folder on a disk of this machine`,
      facts,
    );
  if (freeBytes < 2 * leastBytes) return weak(check, `${free}: new work is refused below ${humanSize(leastBytes)}`, room, facts);
  return fine(check, free, facts);
}
