/** A crowd of clients at once: every API replica stays ready, however busy the machine below all of them is. */
import { setTimeout as pause } from 'node:timers/promises';
import { load } from './client.ts';
import { base, inNamespace } from './cluster.ts';
import type { E2eFiles } from './files.ts';
import { must, step } from './steps.ts';

/** Two clients each. */
const LOADS = 25;
const SECONDS = 60;

/** Since when each replica has been as ready as it is, by its name. */
async function readiness(): Promise<string> {
  const path =
    '{range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].lastTransitionTime}{"\\n"}{end}';
  return await inNamespace('get', 'pods', '-l', 'app.kubernetes.io/component=api', '--sort-by=.metadata.name', '-o', `jsonpath=${path}`);
}

export async function crowd({ photo }: E2eFiles): Promise<void> {
  await step(`${LOADS * 2} clients at once, for ${SECONDS} s`, async () => {
    const before = await readiness();
    must(!/ False /.test(before), `not every replica is ready: ${before}`);
    const stops = Array.from({ length: LOADS }, () => load(base, photo));
    await pause(SECONDS * 1_000);
    const after = await readiness();
    const counts = await Promise.all(stops.map((stop) => stop()));
    const failed = counts.flatMap((count) => count.failed);
    must(failed.length === 0, `${failed.length} jobs failed: ${failed[0]}`);
    must(after === before, `replicas were not ready all the time: ${before} became ${after}`);
    return `${counts.reduce((sum, { done }) => sum + done, 0)} jobs, and every replica was ready all the time`;
  });
}
