/** What becomes of a decision whose first steps the API server refuses: the Jobs that are missing are created all the same. */
import { describe, expect, it } from 'vitest';
import { ToolchainPool } from '../../../../src/contracts/kubernetes/toolchain-pool.ts';
import { type ApplyDeps, apply } from '../../../../src/controller/pools/apply/apply.ts';
import { templateOf } from '../../../../src/controller/pools/apply/template.ts';
import { tokenBucket } from '../../../../src/controller/pools/apply/token-bucket.ts';
import type { PoolAction, WorkerState } from '../../../../src/controller/pools/observation.ts';
import { liveJobs } from '../../../../src/controller/pools/observe/live-jobs.ts';
import { NOTHING_OBSERVED } from '../../../../src/controller/pools/validate.ts';
import type { Kube } from '../../../../src/kube/connection/connect.ts';
import { KubeError } from '../../../../src/kube/connection/error.ts';
import { observedWorker } from './observed.ts';

const pool = ToolchainPool.parse({
  apiVersion: 'filemill.io/v1alpha1',
  kind: 'ToolchainPool',
  metadata: { name: 'image', namespace: 'team', uid: 'pool-uid' },
  spec: { toolchain: 'image', image: 'filemill/image:test', capacity: 8, natsSecretRef: { name: 'nats' } },
});
const worker = (slot: number, state: WorkerState) => observedWorker(slot, state, { busyMs: 60_000 });

/** An API server that holds no Job and answers some calls with an error. */
function scene(refuses: Partial<Record<'patch' | 'remove', KubeError>>) {
  const created: string[] = [];
  const warnings: object[] = [];
  const answer = (error: KubeError | undefined) => (error === undefined ? Promise.resolve() : Promise.reject(error));
  const kube = {
    get: async () => pool,
    async *pages() {
      yield { items: [], resourceVersion: '1' };
    },
    create: async (_: unknown, job: { metadata: { name: string } }) => {
      created.push(job.metadata.name);
      return job;
    },
    patch: () => answer(refuses.patch),
    remove: () => answer(refuses.remove),
  } as unknown as Kube;
  const log = { warn: (facts: object) => void warnings.push(facts) } as unknown as ApplyDeps['log'];
  const deps: ApplyDeps = {
    kube,
    live: liveJobs(() => 0),
    tokens: tokenBucket(100, 100, () => 0),
    retire: () => {},
    mayAct: () => true,
    log,
  };
  const run = (actions: readonly PoolAction[]) => apply(deps, pool, NOTHING_OBSERVED, actions, templateOf(pool, ['nats://nats:4222']));
  return { run, created, warnings };
}

describe('missing Jobs are created', () => {
  it.each([
    ['forbids', new KubeError(403, 'Forbidden', 'no annotations on Sundays')],
    ['fails', new KubeError(500, 'InternalError', 'failed calling webhook')],
  ])('though the API server %s to annotate the pods of busy workers, which is logged once', async (_, error) => {
    const { run, created, warnings } = scene({ patch: error });
    const busy = [0, 1, 2].map((slot): PoolAction => ({ do: 'guard', worker: worker(slot, 'busy'), on: true }));
    expect(await run([...busy, { do: 'create', count: 2 }])).toMatchObject({ created: 2, failure: undefined });
    expect(created).toHaveLength(2);
    expect(warnings).toEqual([{ pool: 'image', pods: 3, err: error }]);
  });

  it('though an ended Job cannot be removed, and the failure is kept for the end of the reconciliation', async () => {
    const error = new KubeError(500, 'InternalError', 'failed calling webhook');
    const { run, created } = scene({ remove: error });
    const outcome = await run([
      { do: 'remove', worker: worker(0, 'succeeded') },
      { do: 'create', count: 1 },
    ]);
    expect([outcome.created, created.length, outcome.failure]).toEqual([1, 1, error]);
  });

  it('and nothing is a failure where an ended Job is gone already', async () => {
    const { run } = scene({ remove: new KubeError(404, 'NotFound', 'gone') });
    expect(await run([{ do: 'remove', worker: worker(0, 'succeeded') }])).toMatchObject({ created: 0, failure: undefined });
  });
});
