/** The input files of a job: removed as soon as no worker will read them. */
import type { JobRecord } from '../../jobs/record.ts';
import { inputKey } from '../../objects/keys.ts';
import type { ObjectStore } from '../../objects/store.ts';
import { type Owned, owned } from './owned.ts';

/** Also what a recipe has made on its way. */
export async function deleteInputs(
  objects: ObjectStore,
  { id, sources, recipe }: Pick<JobRecord, 'id' | 'sources' | 'recipe'>,
): Promise<void> {
  const made = recipe?.carried === undefined ? [] : [recipe.carried.key];
  await Promise.all([...sources.map(({ part }) => inputKey(id, part)), ...made].map((key) => objects.delete(key)));
}

/** After a failure, which is the answer: a second failure here would hide it. Upkeep removes what stays. */
export async function removeAfterFailure(objects: ObjectStore, keys: readonly string[]): Promise<void> {
  await Promise.allSettled(keys.map((key) => objects.delete(key)));
}

export interface OwnedInputs extends Owned {
  readonly add: (keys: readonly string[]) => void;
}

/** Files that a request has stored: removed at the end of the scope, unless their job keeps them. */
export function ownedInputs(objects: ObjectStore, stored: readonly string[]): OwnedInputs {
  const keys = new Set(stored);
  return {
    add(more) {
      for (const key of more) keys.add(key);
    },
    ...owned(() => removeAfterFailure(objects, [...keys])),
  };
}
