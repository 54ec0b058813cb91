/** Uploads that have expired, and objects of uploads without a record. */
import type { ObjectInfo, ObjectStore } from '../objects/store.ts';
import { partKey, UPLOADS_PREFIX, uploadOfKey } from '../uploads/keys.ts';
import type { UploadStore } from '../uploads/store.ts';
import { areOld, orphans } from './orphans.ts';
import { STRETCH } from './sweep.ts';
import { type Walk, walkThrough } from './walk.ts';

interface UploadSweeperDeps {
  readonly uploads: UploadStore;
  readonly objects: ObjectStore;
  /** Ms since the epoch. */
  readonly clock: () => number;
  readonly log: { warn(about: object, message: string): void };
  /** Ms since the epoch; see `Listed`. */
  readonly aloneSince?: number | undefined;
  /** Share of objects without a record, 0 to 1, above which none of them is deleted. */
  readonly maxOrphanShare: number;
}

/** How many uploads expired, and how many objects belonged to none. */
interface Done {
  expired: number;
  orphaned: number;
}

export interface UploadSweeper {
  run(signal?: AbortSignal): Promise<Readonly<Done>>;
  close(): Promise<void>;
}

export function uploadSweeperOver(deps: UploadSweeperDeps): UploadSweeper {
  const walk = walkThrough(deps.objects, UPLOADS_PREFIX, uploadOfKey);
  return {
    async run(signal) {
      const done: Done = { expired: 0, orphaned: 0 };
      await removeExpired(deps, done, signal);
      await removeOrphans(deps, walk, done, signal);
      return done;
    },
    close: () => walk.close(),
  };
}

/** The state of one run. */
export async function forgetUploads(deps: UploadSweeperDeps, signal?: AbortSignal): Promise<Readonly<Done>> {
  const sweeper = uploadSweeperOver(deps);
  try {
    return await sweeper.run(signal);
  } finally {
    await sweeper.close();
  }
}

async function removeExpired(deps: UploadSweeperDeps, done: Done, signal: AbortSignal | undefined): Promise<void> {
  const { uploads, objects, clock } = deps;
  for await (const { record } of uploads.expired(clock())) {
    if (signal?.aborted) return;
    await despite(deps, async () => {
      // An expired upload is final. The record goes last: while it exists, its objects have an owner.
      for (const { key } of await piecesOf(objects, record.id)) await objects.delete(key);
      await uploads.remove(record.id);
      done.expired++;
    });
  }
}

async function removeOrphans(deps: UploadSweeperDeps, walk: Walk, done: Done, signal: AbortSignal | undefined): Promise<void> {
  const { uploads, objects, clock, log, aloneSince, maxOrphanShare: maxShare } = deps;
  const { byOwner, listed, unknown: earlier } = await walk.next(STRETCH);
  const unclaimed = new Map<string, readonly ObjectInfo[]>();
  for (const [id, pieces] of byOwner) {
    if (signal?.aborted) return;
    await despite(deps, async () => {
      if ((await uploads.get(id)) === undefined) unclaimed.set(id, pieces);
    });
  }
  const ages = { now: clock(), longestJobMs: 0, aloneSince };
  const found = orphans({ ...ages, listed, unclaimed, earlier, maxShare });
  walk.count(found.objects);
  if (found.refused) {
    const about = { orphans: earlier + found.objects, objects: listed, maxShare };
    log.warn(about, 'too many objects have no upload record: were the records lost or restored? None of these objects is deleted');
    return;
  }
  for (const id of found.jobIds) {
    if (signal?.aborted) return;
    await despite(deps, async () => {
      // List them again: the stretch may end among them.
      const pieces = await piecesOf(objects, id);
      if (!areOld(pieces, ages)) return;
      for (const { key } of pieces) await objects.delete(key);
      done.orphaned += pieces.length;
    });
  }
}

/** Continues after one that fails or cannot be read. */
async function despite({ log }: UploadSweeperDeps, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (err) {
    log.warn({ err }, 'upkeep of an upload failed; the next run tries again');
  }
}

const piecesOf = (objects: ObjectStore, id: string): Promise<ObjectInfo[]> => Array.fromAsync(objects.scan(partKey(id, '')));
