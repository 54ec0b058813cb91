/** Slots: each runs one conversion at a time, in its own folder and as its own user. */
import { randomInt } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { unlinkFile } from '../../streams/unlink.ts';
import type { Policy } from '../confine/policy.ts';
import { removeTree } from './remove.ts';

/** Above the ids that distributions and container runtimes assign, and below those that some programs take for negative. */
const UIDS = { first: 1_930_000_000, end: 2 ** 31 };
/** More slots than a process has: 256 of each toolchain. */
const SLOTS = 2_048;
/**
 * Slot 0 has this uid, slot 1 the next, and so on. Random, so that other processes on the machine very likely have none of them: two with the
 * same user would share its limit on processes, and could access each other's files.
 */
const FIRST_UID = UIDS.first + SLOTS * randomInt(Math.floor((UIDS.end - UIDS.first) / SLOTS));

export interface Slot {
  readonly index: number;
  /** The user that confined programs of this slot run as; undefined if we are not root and cannot change it. */
  readonly uid: number | undefined;
  /** What its programs compute on, and who comes first. */
  readonly computesOn: Pick<Policy, 'devices' | 'threads' | 'nice'>;
  /** Creates an empty folder that only this slot's user may enter. A folder left there by a crash is replaced. */
  makeFolder(name: string): Promise<string>;
  /** The same for our own user: confined programs can neither read nor change its contents. */
  makePrivateFolder(name: string): Promise<string>;
  /** One of our own user that stays from job to job, since no confined program can leave anything in it. `empty` removes the files in it. */
  keptFolder(name: string): { readonly path: string; readonly empty: () => Promise<void> };
  /** Makes the slot's user the owner of a file or folder of ours. */
  own(path: string): void;
  /** Creates a folder owned by the slot's user inside an existing one. */
  makeOwned(path: string): void;
  /**
   * Moves a folder of the slot out of the way at once; what lies in it is removed by and by, which a disk may take milliseconds for. Waits only while
   * much is still to be removed. @throws where it cannot be moved
   */
  removeFolder(path: string): Promise<void>;
  /** Resolves when nothing is being removed any more. */
  settled(): Promise<void>;
}

/** Files that are removed in one turn of the event loop. */
const REMOVED_AT_ONCE = 64;

/** Goes on after one that cannot be removed. @throws for the first of these */
async function removeFiles(folder: string): Promise<void> {
  const failures: unknown[] = [];
  for (const [at, name] of readdirSync(folder).entries()) {
    if (at % REMOVED_AT_ONCE === REMOVED_AT_ONCE - 1) await setImmediate();
    const path = join(folder, name);
    try {
      await unlinkFile(path, statSync(path).size);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Folders that are being removed at a time; the next one waits. */
const MOST_LEAVING = 4;

/** @param root absolute path of a folder that every user can enter (see `stage.ts`) */
export async function openSlot(root: string, index: number, computesOn: Slot['computesOn'] = {}): Promise<Slot> {
  const home = join(root, `slot-${index}`);
  const uid = process.getuid?.() === 0 ? FIRST_UID + index : undefined;
  // Synchronous: each call takes microseconds, and the thread pool would cost twenty times that. What an earlier process left may take longer.
  if (existsSync(home)) await removeTree(home);
  mkdirSync(home, { recursive: true });
  chmodSync(home, 0o711);
  const own = (path: string) => {
    if (uid !== undefined) chownSync(path, uid, uid);
  };
  /** Removals under way: none of them rejects. */
  const leaving = new Set<Promise<void>>();
  let removed = 0;
  const kept = new Set<string>();
  const removeFolder = async (path: string): Promise<void> => {
    const away = join(home, `gone-${removed++}`);
    renameSync(path, away);
    const gone = removeTree(away)
      // It stays until the next start.
      .catch((cause: unknown) => process.emitWarning(new Error('a folder of a slot could not be removed', { cause })))
      .finally(() => leaving.delete(gone));
    leaving.add(gone);
    while (leaving.size > MOST_LEAVING) await Promise.race(leaving);
  };
  const make = async (name: string) => {
    const path = join(home, name);
    try {
      mkdirSync(path, { mode: 0o700 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      await removeTree(path);
      mkdirSync(path, { mode: 0o700 });
    }
    return path;
  };
  return {
    index,
    uid,
    computesOn,
    own,
    makePrivateFolder: make,
    keptFolder(name) {
      const path = join(home, name);
      // What a crash leaves goes at the start, with the slot's home.
      if (!kept.has(path)) mkdirSync(path, { mode: 0o700 });
      kept.add(path);
      return { path, empty: () => removeFiles(path) };
    },
    makeOwned(path) {
      mkdirSync(path, { mode: 0o700 });
      own(path);
    },
    async makeFolder(name) {
      const path = await make(name);
      own(path);
      return path;
    },
    removeFolder,
    async settled() {
      while (leaving.size > 0) await Promise.all(leaving);
    },
  };
}
