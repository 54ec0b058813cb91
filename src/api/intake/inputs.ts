/** The files that a job was sent: removed as soon as nobody will read them. */
import type { JobRecord } from '../../jobs/record.ts';
import { inputKey } from '../../objects/keys.ts';
import type { ObjectStore } from '../../objects/store.ts';
import { type Owned, owned } from './owned.ts';

export async function deleteInputs(objects: ObjectStore, { id, sources }: Pick<JobRecord, 'id' | 'sources'>): Promise<void> {
  await Promise.all(sources.map(({ part }) => objects.delete(inputKey(id, part))));
}

/** After a failure, which is the answer: a second failure here would hide it. Upkeep removes what stays. */
export async function removeAfterFailure(objects: ObjectStore, keys: readonly string[]): Promise<void> {
  await Promise.allSettled(keys.map((key) => objects.delete(key)));
}

/** Files that a request has stored: removed at the end of the scope, unless their job keeps them. @param keys of all that may be stored */
export const ownedInputs = (objects: ObjectStore, keys: readonly string[]): Owned => owned(() => removeAfterFailure(objects, keys));
