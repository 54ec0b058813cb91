/** Engines that no worker of the cluster has, or that work on none, and why. */
import { modelsOf } from '../../catalog/engine.ts';
import { engines } from '../../catalog/engines.gen.ts';
import { defectSentence } from '../../contracts/messages/fault.ts';
import type { Pool } from '../../pools/registry.ts';

const reasonFor = (defect: string | undefined): string =>
  defect === undefined ? 'no worker that has it has reported' : defectSentence(defect);

/** @param present ids of the engines that the catalog has */
export function missingInCluster(present: ReadonlySet<string>, pools: ReadonlyMap<string, Pool>) {
  const defectOf = (id: string) => [...pools.values()].map(({ broken }) => broken?.get(id)).find((defect) => defect !== undefined);
  const lacking = engines.filter((engine) => !present.has(engine.id) && modelsOf(engine).length === 0);
  return lacking.map((engine) => ({ engine, reason: reasonFor(defectOf(engine.id)) }));
}
