/** What a pool can do while its workers differ, as during an upgrade: any of them may get the next order. */
import type { Heard } from './workers.ts';

/** Engines that all of them have; of several versions, that of the first by name, so that it does not change with who speaks. */
export function sharedEngines(workers: readonly Pick<Heard, 'worker' | 'engines'>[]): ReadonlyMap<string, string> {
  const [first, ...rest] = [...workers].sort((a, b) => (a.worker < b.worker ? -1 : 1));
  return new Map(Object.entries(first?.engines ?? {}).filter(([id]) => rest.every(({ engines }) => Object.hasOwn(engines, id))));
}
