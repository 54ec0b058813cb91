/** Uploads that have expired, and objects of uploads that nobody knows. */
import type { ObjectInfo, ObjectStore } from '../objects/store.ts';
import { partKey, UPLOADS_PREFIX, uploadOfKey } from '../uploads/keys.ts';
import type { UploadStore } from '../uploads/store.ts';
import { orphans } from './orphans.ts';

interface Kept {
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

/** @returns how many uploads expired, and how many objects belonged to none */
export async function forgetUploads(kept: Kept, signal?: AbortSignal): Promise<{ readonly expired: number; readonly orphaned: number }> {
  const { uploads, objects, clock, log, aloneSince, maxOrphanShare: maxShare } = kept;
  const done = { expired: 0, orphaned: 0 };
  // Objects first: one that appears later belongs to a record that this run may not see.
  const { listed, byUpload } = await list(objects);
  const unclaimed = new Map(byUpload);
  const remove = async (id: string): Promise<number> => {
    let count = 0;
    // As they are now: one may have come since the list was made.
    for await (const { key } of objects.scan(partKey(id, ''))) {
      await objects.delete(key);
      count++;
    }
    return count;
  };
  for await (const { record } of uploads.scan()) {
    if (signal?.aborted) return done;
    unclaimed.delete(record.id);
    // An expired one is nobody's: it never comes back. The record goes last: while it stands, its objects are known.
    if (record.expiresAt > clock()) continue;
    await remove(record.id);
    await uploads.remove(record.id);
    done.expired++;
  }

  const found = orphans({ now: clock(), listed, unclaimed, longestJobMs: 0, aloneSince, maxShare });
  if (found.refused) {
    const about = { orphans: found.objects, objects: listed, maxShare };
    log.warn(about, 'too many objects have no upload record: were the records lost or restored? None of these objects is deleted');
    return done;
  }
  for (const id of found.jobIds) {
    if (signal?.aborted) return done;
    try {
      // The scan may have missed a record, or been unable to read it: only the record itself can tell.
      if ((await uploads.get(id)) === undefined) done.orphaned += await remove(id);
    } catch (err) {
      log.warn({ err }, 'upkeep of an upload failed, the next run tries again');
    }
  }
  return done;
}

async function list(objects: ObjectStore): Promise<{ listed: number; byUpload: Map<string, ObjectInfo[]> }> {
  const byUpload = new Map<string, ObjectInfo[]>();
  let listed = 0;
  for await (const info of objects.scan(UPLOADS_PREFIX)) {
    const id = uploadOfKey(info.key);
    if (id === undefined) continue;
    listed++;
    const sofar = byUpload.get(id);
    if (sofar === undefined) byUpload.set(id, [info]);
    else sofar.push(info);
  }
  return { listed, byUpload };
}
