/** What hundreds of requests that wait for their jobs cost NATS. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { recording } from '../../kit/api/assistant.ts';
import { eventually } from '../../kit/api/wire.ts';
import { type Cluster, type Role, startCluster } from '../../kit/roles/cluster.ts';

const WAITING = 300;
/** Each look is a question and its answer; so many looks a second one replica makes for all who wait. */
const MOST_MESSAGES_A_SECOND = 150;
const COUNTED_MS = 4_000;

let cluster: Cluster;
let api: Role;
let worker: Role;
beforeAll(async () => {
  cluster = await startCluster();
  // A run of upkeep reads each unfinished job too, and would fall into some counts and not into others.
  api = await cluster.start('api', {}, { limits: { enabled: false }, upkeep: { intervalMs: 600_000 } });
  worker = await cluster.start('worker', { POOL: 'media' });
  const knowsSound = async () => (await (await fetch(`${api.url}/api/v1/formats`)).text()).includes('"wav"');
  await eventually(knowsSound, 'the replica knows of the worker', 30_000);
});
afterAll(async () => {
  worker?.child.kill('SIGCONT');
  await cluster?.stop();
});

it(`${WAITING} requests that wait for different jobs cost no more than a few looks`, async () => {
  // What is sent now waits.
  worker.child.kill('SIGSTOP');
  const nats = await cluster.nats.connect();
  const over = new AbortController();
  const sound = recording(1);
  const waiting = Array.from({ length: WAITING }, () => {
    const form = new FormData();
    form.set('to_format', 'mp3');
    form.set('file', new Blob([new Uint8Array(sound)]), 'a.wav');
    return fetch(`${api.url}/api/v1/convert`, { method: 'POST', body: form, signal: over.signal }).catch(() => undefined);
  });
  const depth = async () => {
    const { data } = (await (await fetch(`${api.url}/api/v1/health`)).json()) as {
      data: { queue: { media: { waiting: number; running: number } } };
    };
    return data.queue.media.waiting + data.queue.media.running;
  };
  await eventually(async () => (await depth()) === WAITING, 'all jobs to wait', 60_000);

  let messages = 0;
  const counting = nats.core.subscribe('>', { callback: () => void messages++ });
  await new Promise((resolve) => setTimeout(resolve, COUNTED_MS));
  counting.unsubscribe();
  const aSecond = messages / (COUNTED_MS / 1000);
  console.log(`${WAITING} waiting requests: ${aSecond.toFixed(0)} NATS messages a second`);
  over.abort();
  await Promise.all(waiting);
  expect(aSecond).toBeLessThan(MOST_MESSAGES_A_SECOND);
});
