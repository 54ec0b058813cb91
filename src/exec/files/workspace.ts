/** Slots: each runs one conversion at a time, in its own folder and as its own user. */
import { randomInt } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
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
  /** What its programs compute on. */
  readonly computesOn: Pick<Policy, 'devices' | 'threads'>;
  /** Creates an empty folder that only this slot's user may enter. A folder left there by a crash is replaced. */
  makeFolder(name: string): Promise<string>;
  /** The same for our own user: confined programs can neither read nor change its contents. */
  makePrivateFolder(name: string): Promise<string>;
  /** Makes the slot's user the owner of a file or folder of ours. */
  own(path: string): void;
  /** Creates a folder owned by the slot's user inside an existing one. */
  makeOwned(path: string): void;
  removeFolder(path: string): Promise<void>;
}

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
    makeOwned(path) {
      mkdirSync(path, { mode: 0o700 });
      own(path);
    },
    async makeFolder(name) {
      const path = await make(name);
      own(path);
      return path;
    },
    removeFolder: removeTree,
  };
}
