/** One client at several replicas at once, and one job as several replicas tell of it. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Nats } from '../../../src/nats/connection.ts';
import { natsSignals } from '../../../src/signals/nats.ts';
import { natsPresence } from '../../../src/worker/nats.ts';
import { startPresence } from '../../../src/worker/presence.ts';
import { eventually } from '../../kit/api/wire.ts';
import { type Cluster, type Role, startCluster } from '../../kit/roles/cluster.ts';
import { kill, poolOf } from '../../kit/roles/crew.ts';
import { type Answer, convert } from '../../kit/roles/service.ts';
import { startStub } from '../../kit/worker/stub-worker.ts';

const REPLICAS = 3;
const CONNECTIONS = 90;
const COOLDOWN_MS = 1_000;
/** Long enough for a dozen requests in a row, ms. */
const STORM_MS = 6 * COOLDOWN_MS;
const DOT = { name: 'a.gif', bytes: Buffer.from('R0lGODlhAQABAIAAAAUEBAAAACwAAAAAAQABAAACAkQBADs=', 'base64') };
/** A refused request counts like a read, and no client is to be banned here. */
const LIMITS = { limits: { enabled: true, cooldownMs: COOLDOWN_MS, rejections: 1_000_000, readsPerMinute: 1_000_000 } };

let cluster: Cluster;
let nats: Nats;
let replicas: Role[];
beforeAll(async () => {
  cluster = await startCluster();
  // The first makes what the others need.
  replicas = [await cluster.start('api', {}, LIMITS)];
  replicas.push(...(await Promise.all(Array.from({ length: REPLICAS - 1 }, () => cluster.start('api', {}, LIMITS)))));
  nats = await cluster.nats.connect();
}, 90_000);
afterAll(() => cluster?.stop());

const urlOf = (index: number): string => replicas[index % replicas.length]?.url ?? '';

describe('a request has its share back', () => {
  // A tool of AI has a separate allowance.
  const cases: readonly (readonly [why: string, tool: string, status: number, left: string])[] = [
    ['that no worker can do yet', 'resize-image', 503, '150'],
    ['that none will ever do', 'flip-image', 501, '150'],
  ];
  it.each(cases)('%s', async (_why, tool, status, left) => {
    const form = new FormData();
    form.set('img_resize_w', '20');
    form.set('file', new Blob([DOT.bytes]), DOT.name);
    const answer = await fetch(`${urlOf(0)}/api/v1/tools/${tool}`, { method: 'POST', body: form });
    expect([answer.status, answer.headers.get('x-ratelimit-remaining')]).toEqual([status, left]);
  });
});

it('ninety connections of one client pass one request in each cooldown', { timeout: 90_000 }, async () => {
  const admitted: number[] = [];
  const until = performance.now() + STORM_MS;
  const statuses = new Set<number>();
  const client = async (index: number) => {
    while (performance.now() < until) {
      const { status } = await convert(urlOf(index), DOT, 'nothing');
      statuses.add(status);
      // No target that there is: admitted, and then refused.
      if (status === 400) admitted.push(performance.now());
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, index) => client(index)));
  const tookMs = performance.now() - started;
  expect(statuses.has(429)).toBe(true);
  expect(admitted.length).toBeGreaterThan(1);
  expect(admitted.length, `in ${Math.round(tookMs)} ms`).toBeLessThanOrEqual(Math.ceil(tookMs / COOLDOWN_MS) + 1);
});

it('a job’s progress is the same at every replica, and falls neither with its worker nor with a replica', { timeout: 90_000 }, async () => {
  const workerAt = { pool: 'image', toolchain: 'image', worker: 'stub-1', slots: 1 } as const;
  const abilities = () => ({ engines: { sharp: '1' }, broken: new Map(), fault: undefined });
  const presence = startPresence(natsPresence(nats), workerAt, { conversionsPerWorker: 0, idleSeconds: 0 }, abilities);
  presence.reserve();
  for (const { url } of replicas) await eventually(async () => (await poolOf(url, 'image')).workers > 0, 'a worker is known', 30_000);
  const stub = startStub(nats, { behaviour: 'hang', ackWaitMs: 30_000 });
  await pause(COOLDOWN_MS);
  const { data } = await eventually<Answer>(async () => {
    const answer = await convert(urlOf(0), DOT, 'png', {}, { prefer: 'respond-async' });
    return answer.status === 200 ? answer : undefined;
  }, 'the job is taken');
  const id = data?.job_id ?? '';
  await stub.began;
  const progressAt = async ({ url }: Role) =>
    ((await (await fetch(`${url}/api/v1/jobs/${id}`)).json()) as { data: { progress?: number } }).data.progress;
  const shown = () => Promise.all(replicas.map(progressAt));

  natsSignals(nats).progress(id, 60);
  await eventually(async () => (await shown()).join(' ') === '60 60 60', 'all tell of it');
  await kill(replicas[2]);
  replicas[2] = await cluster.start('api', {}, LIMITS);
  const seen = [await shown()];
  // As one does that has taken the job over.
  const next = natsSignals(await cluster.nats.connect());
  next.progress(id, 5);
  for (let look = 0; look < 5; look++) {
    seen.push(await shown());
    await pause(100);
  }
  expect(seen).toEqual(seen.map(() => [60, 60, 60]));
  stub.finish();
});
