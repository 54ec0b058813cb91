/** Files of the embedded store are deleted after the records that do without them are written. */
import { setImmediate } from 'node:timers/promises';
import type { Durability } from '../../jobs/store.ts';
import { type ObjectStore, StoreFull } from '../../objects/store.ts';

/** For so long after changes were lost, no file is deleted: the record that did without it may be among them. Upkeep deletes it later, by its record. */
const UNSURE_MS = 60_000;

/** A file goes when the record that does without it is durable: after a crash, another attempt may need the file. */
export function deletingAfter(objects: ObjectStore, durability: Durability): ObjectStore {
  let losses = durability.losses;
  let unsureUntil = 0;
  return {
    ...objects,
    async delete(key) {
      // What ends in this turn of the event loop is written together.
      await setImmediate();
      durability.commit();
      if (losses !== durability.losses) unsureUntil = performance.now() + UNSURE_MS;
      losses = durability.losses;
      if (performance.now() < unsureUntil) throw new StoreFull('changes of records were lost: a job may need its files again');
      await objects.delete(key);
    },
  };
}
