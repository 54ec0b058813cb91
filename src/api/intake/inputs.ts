/** The files that a job was sent: gone as soon as nobody will read them. */
import type { JobRecord } from '../../jobs/record.ts';
import { inputKey } from '../../objects/keys.ts';
import type { ObjectStore } from '../../objects/store.ts';

export async function deleteInputs(objects: ObjectStore, { id, sources }: Pick<JobRecord, 'id' | 'sources'>): Promise<void> {
  await Promise.all(sources.map(({ part }) => objects.delete(inputKey(id, part))));
}

/** After a failure, which is the answer: one of this too would only hide it. Upkeep removes what stays. */
export async function removeAfterFailure(objects: ObjectStore, keys: readonly string[]): Promise<void> {
  await Promise.allSettled(keys.map((key) => objects.delete(key)));
}

/** Begins a job on files that are stored already: where it cannot be begun, they go. @param keys of all of them */
export async function orRemove<T>(objects: ObjectStore, keys: readonly string[], begin: () => Promise<T>): Promise<T> {
  try {
    return await begin();
  } catch (error) {
    await removeAfterFailure(objects, keys);
    throw error;
  }
}
