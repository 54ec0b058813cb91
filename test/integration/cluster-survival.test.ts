/** Everything that can die dies, one after the other, under load: nothing accepted is lost, nothing is done twice, nothing is left lying about. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { S3Store } from '../../src/objects/s3.ts';
import { openS3 } from '../../src/objects/s3.ts';
import { collect } from '../conformance/samples.ts';
import { type Cluster, type Role, startCluster } from '../kit/cluster.ts';
import { pdf } from '../kit/fixtures/pdf.ts';
import { eventually } from '../kit/wire.ts';

const JOBS = 500;
const CLIENTS = 6;
/** Longer than the time after which a silent worker has lost its order. */
const FROZEN_MS = 35_000;
const PARTED_MS = 20_000;
const LONGEST_MS = 420_000;

let cluster: Cluster;
let objects: S3Store;
let home: string;
const replicas: Role[] = [];
const workers: Role[] = [];
const replicaAt = (index: number, port = '0') =>
  cluster.start('api', { PORT: port }).then((role) => {
    replicas[index] = role;
  });
const workerAt = (index: number, pool: string) =>
  cluster.start('worker', { POOL: pool }).then((role) => {
    workers[index] = role;
  });

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-cluster-survival-'));
  cluster = await startCluster();
  await Promise.all([replicaAt(0), replicaAt(1)]);
  objects = await openS3(cluster.bucket);
  await Promise.all([workerAt(0, 'image'), workerAt(1, 'image'), workerAt(2, 'pdf'), workerAt(3, 'media')]);
  for (const pool of ['image', 'pdf', 'media'])
    for (const { url } of replicas)
      await eventually(
        async () => {
          const { data } = (await (await fetch(`${url}/api/v1/health`)).json()) as { data: { queue: Record<string, { workers: number }> } };
          return (data.queue[pool]?.workers ?? 0) > 0;
        },
        `${url} knows a worker for ${pool}`,
        30_000,
      );
});
afterAll(async () => {
  await cluster?.stop();
  await rm(home, { recursive: true, force: true });
});

type Colour = readonly [number, number, number];
const colourOf = (index: number): Colour => [
  (index % 6) * 45 + 15,
  (Math.floor(index / 6) % 6) * 45 + 15,
  (Math.floor(index / 36) % 14) * 17 + 10,
];

interface Work {
  readonly name: string;
  readonly target: string;
  readonly bytes: Buffer;
  /** @throws where the output is not this job's */
  judge(output: Buffer): Promise<void>;
}

async function workOf(index: number): Promise<Work> {
  if (index % 10 === 3) {
    const words = `job number ${index}`;
    return { name: 'page.pdf', target: 'txt', bytes: pdf([[words]]), judge: async (output) => expect(output.toString()).toContain(words) };
  }
  if (index % 25 === 7) {
    // Its length tells which it is: ms.
    const ms = 1_000 + index;
    const tone = `sine=frequency=440:duration=${ms / 1000}:sample_rate=48000`;
    const bytes = execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', tone, '-f', 'wav', '-'], { maxBuffer: 1 << 25 });
    const judge = async (output: Buffer) => {
      const samples = execFileSync('ffmpeg', ['-v', 'error', '-f', 'flac', '-i', '-', '-f', 's16le', '-ac', '1', '-'], {
        input: output,
        maxBuffer: 1 << 25,
      });
      expect(samples.length / 2 / 48).toBeCloseTo(ms, -1);
    };
    return { name: 'tone.wav', target: 'flac', bytes, judge };
  }
  const [r, g, b] = colourOf(index);
  const bytes = await sharp({ create: { width: 64, height: 48, channels: 3, background: { r, g, b } } })
    .png()
    .toBuffer();
  const judge = async (output: Buffer) => {
    const { data } = await sharp(output).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    for (const [band, value] of [r, g, b].entries()) expect(Math.abs((data[band] ?? -1) - value)).toBeLessThan(8);
  };
  return { name: 'flat.png', target: index % 2 === 0 ? 'tiff' : 'gif', bytes, judge };
}

interface Told {
  readonly status: number;
  readonly data?: { readonly job_id: string; readonly status: string };
  readonly error?: { readonly code: string; readonly details: Record<string, unknown> };
}

/** As a patient client does it: another replica, and again, until somebody answers. */
async function ask(
  path: string,
  init: () => RequestInit,
  until: (told: Told, body: Buffer) => boolean,
): Promise<{ told: Told; body: Buffer }> {
  const deadline = Date.now() + LONGEST_MS;
  for (let turn = 0; Date.now() < deadline; turn++) {
    const { url } = replicas[turn % replicas.length] as Role;
    const response = await fetch(`${url}${path}`, { ...init(), signal: AbortSignal.timeout(40_000) }).catch(() => undefined);
    const body = response === undefined ? undefined : Buffer.from(await response.arrayBuffer().catch(() => new ArrayBuffer(0)));
    if (response !== undefined && body !== undefined) {
      const json = (response.headers.get('content-type') ?? '').startsWith('application/json') && body.length > 0;
      const told: Told = { status: response.status, ...(json ? (JSON.parse(body.toString()) as object) : {}) };
      if (told.status !== 503 && until(told, body)) return { told, body };
    }
    await pause(200);
  }
  throw new Error(`nobody answered ${path} to the end`);
}

async function send(index: number, { name, target, bytes }: Work): Promise<string> {
  const form = () => {
    const body = new FormData();
    body.set('to_format', target);
    body.set('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), name);
    return { method: 'POST', body, headers: { 'idempotency-key': `job-${index}`, prefer: index % 3 === 0 ? 'respond-async' : 'wait' } };
  };
  const { told } = await ask(
    '/api/v1/convert',
    form,
    ({ data, error }) => data?.job_id !== undefined || error?.details['job_id'] !== undefined,
  );
  return told.data?.job_id ?? String(told.error?.details['job_id']);
}

const restarted = async (role: Role | undefined, again: () => Promise<void>) => {
  if (role === undefined) return;
  const ended = once(role.child, 'exit');
  role.child.kill('SIGKILL');
  await ended;
  await again();
};

async function disturb(over: () => boolean): Promise<string[]> {
  const done: string[] = [];
  const portOf = (role: Role | undefined) => new URL(role?.url ?? 'http://x').port;
  const deeds: Readonly<Record<string, () => Promise<void>>> = {
    'a worker was killed': () => restarted(workers[0], () => workerAt(0, 'image')),
    'a replica was killed': () => restarted(replicas[0], () => replicaAt(0, portOf(replicas[0]))),
    'a worker froze and thawed': async () => {
      workers[1]?.child.kill('SIGSTOP');
      await pause(FROZEN_MS);
      workers[1]?.child.kill('SIGCONT');
    },
    'NATS was killed': async () => {
      await cluster.nats.kill();
      await pause(1_000);
      await cluster.nats.restart();
    },
    'S3 was killed': async () => {
      await cluster.minio.kill();
      await pause(1_000);
      await cluster.minio.restart();
    },
    'NATS was out of reach': async () => {
      cluster.nats.signal('SIGSTOP');
      await pause(PARTED_MS);
      cluster.nats.signal('SIGCONT');
    },
  };
  for (const [what, deed] of Object.entries(deeds)) {
    await pause(2_000);
    expect(over(), `the load lasts until ${what}`).toBe(false);
    await deed();
    done.push(what);
  }
  return done;
}

it(`${JOBS} jobs survive the death of everything`, { timeout: LONGEST_MS + 60_000 }, async () => {
  const ids = new Map<number, string>();
  const ends = new Map<string, string>();
  let next = 0;
  let over = false;
  let disturbed = false;
  const client = async () => {
    // Some more than promised, where the disturbances take longer.
    for (let index = next++; index < JOBS || !disturbed; index = next++) {
      const work = await workOf(index);
      const id = await send(index, work);
      ids.set(index, id);
      const { told } = await ask(
        `/api/v1/jobs/${id}`,
        () => ({}),
        ({ data, status }) => data?.status !== 'processing' || status === 500,
      );
      ends.set(
        id,
        told.error === undefined ? (told.data?.status ?? String(told.status)) : String(told.error.details['reason'] ?? told.error.code),
      );
      if (told.data?.status !== 'done') continue;
      const { body } = await ask(
        `/api/v1/jobs/${id}/output`,
        () => ({}),
        ({ status }, bytes) => status === 200 && bytes.length > 0,
      );
      await work.judge(body);
    }
  };
  const disturbing = disturb(() => over).finally(() => {
    disturbed = true;
  });
  await Promise.all([...Array.from({ length: CLIENTS }, client), disturbing]);
  over = true;

  expect(new Set(ids.values()).size).toBe(ids.size);
  const failures = [...ends.values()].filter((end) => end !== 'done');
  // Three lost workers in a row are one reason to give a file up; there is no other here.
  expect(failures.every((reason) => reason === 'engine_crashed')).toBe(true);
  expect(failures.length).toBeLessThan(ids.size / 20);

  // One winner each: where two attempts ran, only one of their outputs may stay, and no input.
  const kept = new Map<string, number>();
  for (const { key } of await collect(objects.scan('jobs/')))
    kept.set(key.split('/')[1] ?? '', (kept.get(key.split('/')[1] ?? '') ?? 0) + 1);
  for (const [id, end] of ends) if (end === 'done') expect(kept.get(id), id).toBeGreaterThan(0);
  for (const id of ends.keys())
    await ask(
      `/api/v1/jobs/${id}`,
      () => ({ method: 'DELETE' }),
      ({ status }) => status === 204,
    );
  await eventually(async () => (await orders()) === 0, 'no order is left', 60_000);
});

async function orders(): Promise<number> {
  let waiting = 0;
  for (const { url } of replicas.slice(0, 1)) {
    const { data } = (await (await fetch(`${url}/api/v1/health`)).json()) as {
      data: { queue: Record<string, { waiting: number; running: number }> };
    };
    for (const pool of Object.values(data.queue)) waiting += pool.waiting + pool.running;
  }
  return waiting;
}
