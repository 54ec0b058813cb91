/** Named pools with real processes: where orders go, how workers leave, and what a worker says that does not fit its pool. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openNatsJobs } from '../../../src/jobs/nats/jobs.ts';
import type { Nats } from '../../../src/nats/connection.ts';
import { openS3 } from '../../../src/objects/s3/store.ts';
import { declarePool } from '../../../src/pools/nats/declarations.ts';
import { publishRetire } from '../../../src/pools/nats/retire.ts';
import { publishPresence, subscribeWorkers } from '../../../src/pools/nats/workers.ts';
import type { KnownWorkers } from '../../../src/pools/registry.ts';
import { ensurePool } from '../../../src/queue/nats/pool.ts';
import { eventually } from '../../kit/api/wire.ts';
import { freePort } from '../../kit/exec/ports.ts';
import { type Cluster, type Role, startCluster } from '../../kit/roles/cluster.ts';
import { type Answer, convert, untilEnded } from '../../kit/roles/service.ts';

const LISTED = [
  { name: 'media-a', toolchain: 'media' },
  { name: 'media-b', toolchain: 'media', preference: 1 },
  { name: 'image', toolchain: 'image' },
];
/** How old an API's word on its queues may be, ms. */
const HEALTH_KEPT_MS = 1_000;
const ONE_SLOT = { worker: { slots: { media: 1, image: 1 } } };

let cluster: Cluster;
let nats: Nats;
let workers: KnownWorkers;
let api: string;
let a: Role;
let b: Role;
beforeAll(async () => {
  cluster = await startCluster();
  // Each queue holds one order, waiting or running.
  const settings = { pools: { list: LISTED }, upkeep: { queueCapacity: 1 } };
  const starting = cluster.start('api', {}, settings);
  [a, b] = await Promise.all([
    cluster.start('worker', { POOL: 'media-a', WORKER_NAME: 'worker-a' }, ONE_SLOT),
    cluster.start('worker', { POOL: 'media-b', WORKER_NAME: 'worker-b', TOOLCHAIN: 'media' }, ONE_SLOT),
    cluster.start('worker', { POOL: 'image' }, ONE_SLOT),
  ]);
  api = (await starting).url ?? '';
  nats = await cluster.nats.connect();
  workers = subscribeWorkers(nats, Date.now);
  await eventually(async () => (await health()).queue['image']?.workers === 1 && (await mediaWorkers()) === '1 1', 'all workers are known');
});
afterAll(async () => {
  workers?.close();
  await cluster?.stop();
});

interface Health {
  readonly devices?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly queue: Readonly<Record<string, { readonly waiting: number; readonly running: number; readonly workers: number }>>;
  readonly engines: Readonly<Record<string, { readonly version: string; readonly seen_at: string }>>;
}
const health = async (): Promise<Health> => ((await (await fetch(`${api}/api/v1/health`)).json()) as { data: Health }).data;
const mediaWorkers = async (): Promise<string> => {
  const { queue } = await health();
  return ['media-a', 'media-b'].map((pool) => queue[pool]?.workers).join(' ');
};
const stateOf = (pool: string): string | undefined => workers.workers(pool)[0]?.state;
const recordOf = (pool: string, id: string | undefined) =>
  nats.manager.streams.getMessage('KV_jobs', { last_by_subj: `$KV.jobs.${pool}.${id}` });

/** Takes a moment to convert. */
const film = execFileSync(
  'ffmpeg',
  ['-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=duration=6:size=1280x720:rate=30', '-c:v', 'mpeg4', '-q:v', '5', '-f', 'matroska', '-'],
  { maxBuffer: 1 << 28 },
);
const send = (): Promise<Answer> => convert(api, { name: 'a.mkv', bytes: film }, 'mp4', {}, { prefer: 'respond-async' });
const exitOf = async ({ child }: Role): Promise<number | null> => {
  if (child.exitCode === null) await once(child, 'exit');
  return child.exitCode;
};

describe('two pools of one toolchain', () => {
  it('get orders as they are preferred, and the second what the first has no room for', { timeout: 60_000 }, async () => {
    const [first, second] = [await send(), await send()];
    expect([first.error, second.error]).toEqual([undefined, undefined]);
    expect((await recordOf('media-a', first.data?.job_id))?.seq).toBeDefined();
    expect((await recordOf('media-b', second.data?.job_id))?.seq).toBeDefined();
    await eventually(async () => stateOf('media-a') === 'busy', 'the first has its order');

    const said: string[] = [];
    const unsubscribe = workers.onPresence((pool) => {
      for (const { state, busy } of workers.workers(pool === 'media-a' ? pool : '')) said.push(`${state} with ${busy}`);
    });
    publishRetire(nats, 'media-a', 'worker-a');
    expect(await exitOf(a)).toBe(0);
    unsubscribe();
    expect([said[0], said.at(-1)]).toEqual(['draining with 1', 'drained with 0']);
    expect(workers.workers('media-a')[0]).toMatchObject({ state: 'drained', busy: 0, taken: 1, ended: 1, busyMs: expect.any(Number) });
    expect(workers.workers('media-a')[0]?.busyMs).toBeGreaterThan(100);
    for (const { data } of [first, second]) expect((await untilEnded(api, data?.job_id ?? '')).data?.status).toBe('done');

    await eventually(async () => (await health()).queue['media-b']?.running === 0, 'the second has room again');
    // The preferred pool has no worker any more, and nothing would start one there.
    expect((await recordOf('media-b', (await send()).data?.job_id))?.seq).toBeDefined();
  });

  it('are full when both are, and then nothing is left of what is refused, and other pools go on', { timeout: 60_000 }, async () => {
    // The order that was sent last must be seen first.
    await pause(HEALTH_KEPT_MS);
    await eventually(
      async () => (await health()).queue['media-b']?.running === 0 && stateOf('media-b') === 'idle',
      'the last order is done',
      30_000,
    );
    b.child.kill('SIGTERM');
    await exitOf(b);
    await eventually(async () => (await mediaWorkers()) === '0 0', 'no worker is there');
    const taken = [await send(), await send()];
    const before = await stored();
    const refused = await send();
    expect([refused.status, refused.error?.code, refused.error?.details.retryable]).toEqual([503, 'OVERLOADED', true]);
    expect(taken.map(({ error }) => error)).toEqual([undefined, undefined]);
    expect(await stored()).toEqual(before);
    const isFull = { waiting: 1, workers: 0 };
    await expect.poll(async () => (await health()).queue, { timeout: 5_000 }).toMatchObject({ 'media-a': isFull, 'media-b': isFull });

    const picture = await sharp({ create: { width: 20, height: 20, channels: 3, background: 'teal' } })
      .png()
      .toBuffer();
    expect((await convert(api, { name: 'a.png', bytes: picture }, 'webp', {}, { prefer: 'wait' })).data?.status).toBe('done');
  });

  it('show in metrics, and for how long the oldest order has been waiting', async () => {
    const text = await (await fetch(`${api}/metrics`)).text();
    expect(text).toMatch(/^filemill_pool_workers\{pool="image"\} 1$/m);
    expect(text).toMatch(/^filemill_pool_waiting\{pool="media-a"\} 1$/m);
    expect(text).toMatch(/^filemill_pool_running\{pool="media-b"\} 0$/m);
    expect(text).toMatch(/^filemill_pool_engine_info\{pool="image",engine="sharp",version="[0-9.]+"\} 1$/m);
    expect(Number(/^filemill_pool_oldest_seconds\{pool="media-a"\} (.*)$/m.exec(text)?.[1])).toBeGreaterThan(0);
  });

  it('keep what they can do, and when it was last heard', async () => {
    const { engines } = await health();
    expect(engines['audio_video']?.version).toMatch(/^\d/);
    const age = Date.now() - Date.parse(engines['audio_video']?.seen_at ?? '');
    expect(age).toBeGreaterThan(0);
    expect(age).toBeLessThan(120_000);
  });
});

/** Records, and files. */
async function stored(): Promise<readonly number[]> {
  const [records, objects] = [
    await Array.fromAsync(openNatsJobs(nats).scan()),
    await Array.fromAsync((await openS3(cluster.bucket)).scan('')),
  ];
  return [records.length, objects.length];
}

describe('a pool that is declared while replicas run', () => {
  it('has a route within seconds, and a worker that has waited for it', { timeout: 60_000 }, async () => {
    const late = cluster.start('worker', { POOL: 'pdf-late', METRICS_PORT: String(await freePort()) });
    expect((await health()).queue['pdf-late']).toBeUndefined();
    await ensurePool(nats, 'pdf-late', { capacity: 10, replicas: 1 });
    await declarePool(nats, { version: 1, name: 'pdf-late', toolchain: 'pdf' });
    await late;
    await eventually(async () => (await health()).queue['pdf-late']?.workers === 1, 'its worker is known');
    const { status } = await fetch(`${api}/api/v1/tools`);
    expect(status).toBe(200);
    expect((await health()).engines['pdf']?.version).toMatch(/^\d/);
  });
});

describe('a worker', () => {
  it('answers liveness and readiness probes, and has metrics', async () => {
    const port = await freePort();
    await cluster.start('worker', { POOL: 'image', METRICS_PORT: String(port) }, ONE_SLOT);
    const ask = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      return [response.status, await response.text()] as const;
    };
    expect((await ask('/livez'))[0]).toBe(200);
    expect((await ask('/readyz'))[0]).toBe(200);
    expect((await ask('/metrics'))[1]).toMatch(/^filemill_worker_slots 1$/m);
    expect((await ask('/constructor'))[0]).toBe(404);
  });

  it('that has had no order for long enough ends by itself, in good order', async () => {
    const idle = await cluster.start('worker', { POOL: 'image', WORKER_NAME: 'bored' }, { worker: { idleSeconds: 1 } });
    expect(await exitOf(idle)).toBe(0);
    expect(workers.workers('image').find(({ worker }) => worker === 'bored')?.state).toBe('drained');
  });

  it.each([
    ['of a pool that is not declared', { POOL: 'nowhere' }, 'the pool nowhere is not declared (declared are image, media-a, media-b'],
    [
      'of another toolchain',
      { POOL: 'media-a', TOOLCHAIN: 'image' },
      'the pool media-a is of the toolchain media, and this worker is of image',
    ],
  ])('%s says so and ends', async (_, environment, words) => {
    await expect(cluster.start('worker', environment, { worker: { poolWaitMs: 0 } })).rejects.toThrow(words);
  });
});

describe('an API replica', () => {
  it('tells which devices the workers of a pool have found, and nothing of pools that use none', async () => {
    expect(await health()).not.toHaveProperty('devices');
    const [image] = workers.workers('image');
    if (image === undefined) throw new Error('the pool has no worker');
    const { receivedAt: _, ...heartbeat } = image;
    const standIn = { ...heartbeat, worker: 'with-a-device', devices: { nvidia: 1, render: 0 } };
    publishPresence(nats, standIn);
    await eventually(async () => (await health()).devices !== undefined, 'the stand-in is known');
    expect((await health()).devices).toEqual({ image: { nvidia: 1, render: 0 } });
    publishPresence(nats, { ...standIn, state: 'drained' });
    await eventually(async () => (await health()).devices === undefined, 'it has left');
  });

  it('tells how it stands while NATS is out of reach', async () => {
    cluster.nats.signal('SIGSTOP');
    try {
      // What it was told just before may still be the answer to the first request.
      await eventually(async () => {
        const answer = await fetch(`${api}/api/v1/health`);
        const { data } = (await answer.json()) as { data: { status: string; queue: object } };
        expect(answer.status).toBe(200);
        return data.status === 'degraded' && Object.keys(data.queue).length === 0;
      }, 'it says that it does not know');
    } finally {
      cluster.nats.signal('SIGCONT');
    }
  });

  it('whose list contradicts what is declared says so and ends', async () => {
    const settings = { pools: { list: [{ name: 'image', toolchain: 'pdf' }] } };
    await expect(cluster.start('api', {}, settings)).rejects.toThrow('the pool image is of the toolchain image, not pdf');
  });
});
