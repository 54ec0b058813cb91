/** NATS users with least permissions: the cluster works with them, and a worker of one pool can do nothing to another's. */
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Nats } from '../../../src/nats/connection.ts';
import { apiPermissions, controllerPermissions, inboxOf, workerPermissions } from '../../../src/nats/permissions.ts';
import { declarePool, ensureRegistry, readPools, retractPool } from '../../../src/pools/nats/declarations.ts';
import { publishRetire } from '../../../src/pools/nats/retire.ts';
import { subscribeWorkers } from '../../../src/pools/nats/workers.ts';
import { ensurePool } from '../../../src/queue/nats/pool.ts';
import { openNatsQueue } from '../../../src/queue/nats/queue.ts';
import { eventually } from '../../kit/api/wire.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { PASSWORD } from '../../kit/nats/nats.ts';
import { type Cluster, type Role, startCluster } from '../../kit/roles/cluster.ts';

let cluster: Cluster;
let api: Role;
/** An attacker's connection, with the credentials of the pool `image`. */
let stolen: Nats;
let admin: Nats;
/** Waits in the pool `pdf`, whose worker has gone. */
let waiting: string;
const as = (user: string) => ({ NATS_USER: user, NATS_PASSWORD: PASSWORD });

async function send(fields: Record<string, string>, bytes: Uint8Array, name: string): Promise<{ job_id: string; status: string }> {
  const body = new FormData();
  for (const [key, value] of Object.entries(fields)) body.set(key, value);
  body.set('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), name);
  const headers = { prefer: fields['to_format'] === 'txt' ? 'respond-async' : 'wait' };
  return ((await (await fetch(`${api.url}/api/v1/convert`, { method: 'POST', body, headers })).json()) as { data: never }).data;
}
async function poolOf(pool: string): Promise<{ workers: number; waiting: number } | undefined> {
  const { data } = (await (await fetch(`${api.url}/api/v1/health`)).json()) as {
    data: { queue: Record<string, { workers: number; waiting: number }> };
  };
  return data.queue[pool];
}

beforeAll(async () => {
  cluster = await startCluster(1, {
    api: apiPermissions,
    controller: controllerPermissions,
    image: workerPermissions('image'),
    pdf: workerPermissions('pdf'),
  });
  api = await cluster.start('api', as('api'));
  const [, reader] = await Promise.all([
    cluster.start('worker', { POOL: 'image', ...as('image') }),
    cluster.start('worker', { POOL: 'pdf', ...as('pdf') }),
  ]);
  await eventually(
    async () => ((await poolOf('pdf'))?.workers ?? 0) > 0 && ((await poolOf('image'))?.workers ?? 0) > 0,
    'the workers are known',
  );
  reader?.child.kill('SIGTERM');
  await reader?.ended;
  waiting = (await send({ to_format: 'txt' }, pdf([['private']]), 'a.pdf')).job_id;
  stolen = await cluster.nats.connect({ user: 'image', password: PASSWORD, inbox: inboxOf('worker', 'image') });
  admin = await cluster.nats.connect();
});
afterAll(() => cluster?.stop());

describe('with its own user', () => {
  it('each role does its work', async () => {
    const picture = await sharp({ create: { width: 20, height: 20, channels: 3, background: 'teal' } })
      .png()
      .toBuffer();
    expect((await send({ to_format: 'webp' }, picture, 'a.png')).status).toBe('done');
  });
});

describe('a worker of one pool', () => {
  const order = () => admin.manager.streams.getMessage('convert-pdf', { last_by_subj: `convert.pdf.*.${waiting}` });
  const record = () => admin.manager.streams.getMessage('KV_jobs', { last_by_subj: `$KV.jobs.pdf.${waiting}` });

  const attempts: Readonly<Record<string, (subject: { readonly seq: number }) => readonly [subject: string, text: string]>> = {
    'takes no order of another pool': () => ['$JS.API.CONSUMER.MSG.NEXT.convert-pdf.interactive', '{"batch":1,"no_wait":true}'],
    'reads no order of another pool': ({ seq }) => ['$JS.API.STREAM.MSG.GET.convert-pdf', JSON.stringify({ seq })],
    'acknowledges no order of another pool': ({ seq }) => [`$JS.ACK.convert-pdf.interactive.1.${seq}.1.1.0`, '+ACK'],
    'terminates no order of another pool': ({ seq }) => [`$JS.ACK.convert-pdf.interactive.1.${seq}.1.1.0`, '+TERM'],
    'orders nothing': () => ['convert.image.interactive.0123456789abcdef0123456789abcdef', '{}'],
    'writes no record of another pool': () => [`$KV.jobs.pdf.${waiting}`, '{}'],
    'deletes no stream': () => ['$JS.API.STREAM.DELETE.convert-pdf', ''],
    'deletes no bucket': () => ['$JS.API.STREAM.DELETE.KV_jobs', ''],
    'purges nothing': () => ['$JS.API.STREAM.PURGE.convert-pdf', ''],
    'makes no consumer': () => ['$JS.API.CONSUMER.CREATE.convert-pdf', '{"stream_name":"convert-pdf","config":{"ack_policy":"none"}}'],
    'is granted nothing of another pool': () => ['grant.pdf', JSON.stringify({ version: 1, jobId: waiting, attempt: '0' })],
    'writes no limits': () => ['$KV.clients.0123', '{}'],
  };
  for (const [what, attempt] of Object.entries(attempts)) {
    it(what, async () => {
      const before = [await order(), await record()].map((message) => message?.seq);
      expect(before.every((seq) => seq !== undefined)).toBe(true);
      const [subject, text] = attempt({ seq: before[0] ?? 0 });
      await expect(stolen.core.request(subject, text, { timeout: 500 })).rejects.toThrow();
      expect([await order(), await record()].map((message) => message?.seq)).toEqual(before);
    });
  }

  it('asks no worker of another pool to retire, speaks for none, and declares nothing', async () => {
    const heard: string[] = [];
    const listening = ['retire.>', 'worker.pdf.>'].map((subject) =>
      admin.core.subscribe(subject, { callback: (_, message) => void heard.push(message.subject) }),
    );
    await admin.core.flush();
    const declared = () => admin.manager.streams.getMessage('KV_pools', { last_by_subj: '$KV.pools.pool.pdf' });
    const before = await declared();
    for (const subject of [
      'retire.pdf.somebody',
      'retire.image.somebody',
      'worker.pdf.somebody',
      '$KV.pools.pool.pdf',
      '$KV.pools.engines.pdf',
    ])
      stolen.core.publish(subject, '{}');
    await stolen.core.flush();
    await admin.core.flush();
    for (const subscription of listening) subscription.unsubscribe();
    expect(heard).toEqual([]);
    expect(before?.seq).toBeDefined();
    expect((await declared())?.seq).toBe(before?.seq);
  });

  it('gets no requests to retire of another pool', async () => {
    const heard: string[] = [];
    const hear = (subject: string) =>
      stolen.core.subscribe(subject, { callback: (error, message) => void (error === null && heard.push(message.subject)) });
    const listening = ['retire.pdf.*', 'retire.image.*'].map(hear);
    await stolen.core.flush();
    for (const pool of ['pdf', 'image']) publishRetire(admin, pool, 'somebody');
    await admin.core.flush();
    await stolen.core.flush();
    for (const subscription of listening) if (!subscription.isClosed()) subscription.unsubscribe();
    expect(heard).toEqual(['retire.image.somebody']);
  });

  it('gets no answer that is meant for another user', async () => {
    const heard: string[] = [];
    const subscription = stolen.core.subscribe(`${inboxOf('api')}.>`, {
      callback: (error, message) => void (error === null && heard.push(message.subject)),
    });
    await fetch(`${api.url}/api/v1/jobs/${waiting}`);
    await stolen.core.flush();
    subscription.unsubscribe();
    expect(heard).toEqual([]);
  });

  it('has left the order where it was, for its own worker', async () => {
    await expect.poll(async () => (await poolOf('pdf'))?.waiting, { timeout: 20_000 }).toBe(1);
    await cluster.start('worker', { POOL: 'pdf', ...as('pdf') });
    await eventually(
      async () => {
        const { data } = (await (await fetch(`${api.url}/api/v1/jobs/${waiting}`)).json()) as { data?: { status: string } };
        return data?.status === 'done';
      },
      'the job is done',
      30_000,
    );
  });
});

describe('a controller', () => {
  let controller: Nats;
  beforeAll(async () => {
    controller = await cluster.nats.connect({ user: 'controller', password: PASSWORD, inbox: inboxOf('controller') });
  });

  it('declares pools with their streams, counts what is in them, hears workers, and asks them to retire', async () => {
    await ensureRegistry(controller, 1);
    await ensurePool(controller, 'gpu', { capacity: 10, replicas: 1 });
    await declarePool(controller, { version: 1, name: 'gpu', toolchain: 'image', capacity: 1 });
    expect((await readPools(controller)).map(({ name }) => name)).toContain('gpu');
    const queue = openNatsQueue(controller);
    expect(await queue.depth('gpu')).toEqual({ waiting: 0, held: 0, oldestMs: undefined });
    await queue.close();
    const workers = subscribeWorkers(controller, Date.now);
    await eventually(async () => workers.workers('image').length === 1, 'it hears the worker');
    workers.close();
    await retractPool(controller, 'gpu');
    expect((await readPools(controller)).map(({ name }) => name)).not.toContain('gpu');
    const retired = Promise.withResolvers<string>();
    const subscription = admin.core.subscribe('retire.image.*', { callback: (_, message) => retired.resolve(message.subject) });
    await admin.core.flush();
    publishRetire(controller, 'image', 'somebody');
    expect(await retired.promise).toBe('retire.image.somebody');
    subscription.unsubscribe();
  });

  it.each([
    ['deletes no stream', '$JS.API.STREAM.DELETE.convert-image'],
    ['purges none', '$JS.API.STREAM.PURGE.convert-image'],
    ['takes no order', '$JS.API.CONSUMER.MSG.NEXT.convert-image.interactive'],
    ['ends no order', '$JS.ACK.convert-image.interactive.1.1.1.1.0'],
    ['places no order', 'convert.image.interactive.0123456789abcdef0123456789abcdef'],
    ['writes no record', '$KV.jobs.image.0123456789abcdef0123456789abcdef'],
    ['is granted nothing', 'grant.image'],
  ])('%s', async (_, subject) => {
    const refused = Promise.withResolvers<unknown>();
    const watching = (async () => {
      for await (const status of controller.core.status()) if (status.type === 'error') return refused.resolve(status.error.message);
    })();
    await expect(controller.core.request(subject, '{}', { timeout: 500 })).rejects.toThrow();
    expect(await refused.promise).toContain(subject);
    await watching;
  });
});
