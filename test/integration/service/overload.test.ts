/** A service whose queue is full says so before it has received what it would refuse, on one machine and on several. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Nats } from '../../../src/nats/connection.ts';
import { natsPresence } from '../../../src/worker/nats.ts';
import { startPresence } from '../../../src/worker/presence.ts';
import { connectTo, END, eventually, FORM, field, file, fileHead, objectsIn, raw, storedIn } from '../../kit/api/wire.ts';
import { type Cluster, startCluster } from '../../kit/roles/cluster.ts';
import { poolOf } from '../../kit/roles/crew.ts';
import { convert, type Service, startService } from '../../kit/roles/service.ts';

const DOT = { name: 'a.gif', bytes: Buffer.from('R0lGODlhAQABAIAAAAUEBAAAACwAAAAAAQABAAACAkQBADs=', 'base64') };
/** What a client says that it will send, bytes. */
const DECLARED = 150 * 1024 * 1024;
/** What it sends of that: more than tells what it is. */
const SENT = 400 * 1024;
const FULL_AT_ONE = { upkeep: { queueCapacity: 1 } };

/** What comes back to a request of which no more than this is sent. */
async function answerTo(url: string, path: string, headers: readonly string[], body: readonly (string | Buffer)[] = []): Promise<string> {
  const socket = connectTo(url);
  const heard: Buffer[] = [];
  try {
    return await new Promise((resolve, reject) => {
      socket.on('data', (chunk) => {
        heard.push(Buffer.from(chunk));
        const text = Buffer.concat(heard).toString();
        if (/^HTTP\/1\.1 [45]\d\d .*"details"/s.test(text) || text.startsWith('HTTP/1.1 100 ')) resolve(text);
      });
      socket.on('close', () => reject(new Error(`closed after: ${Buffer.concat(heard).toString()}`)));
      const head = [`POST ${path} HTTP/1.1`, 'Host: localhost', `Content-Type: ${FORM}`, `Content-Length: ${DECLARED}`, ...headers];
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
      for (const piece of body) socket.write(piece);
    });
  } finally {
    socket.destroy();
  }
}

const refused = /^HTTP\/1\.1 503 .*"code":"OVERLOADED".*"pool":"image"/s;
const EXPECT = 'Expect: 100-continue';

describe('on one machine, a full queue', () => {
  let service: Service;
  beforeAll(async () => {
    // No worker takes what waits.
    service = await startService({ ...FULL_AT_ONE, worker: { slots: { image: 0 } } });
    expect((await convert(service.url, DOT, 'png', {}, { prefer: 'respond-async', 'idempotency-key': 'first' })).status).toBe(200);
  });
  afterAll(() => service?.stop());

  it('refuses a tool by its headers, before the client sends', async () => {
    expect(await answerTo(service.url, '/api/v1/tools/resize-image', [EXPECT])).toMatch(refused);
    expect(await answerTo(service.url, '/api/v1/tools/resize-image', [])).toMatch(refused);
  });

  it('lets the client send what another pool may have room for', async () => {
    expect(await answerTo(service.url, '/api/v1/convert', [EXPECT])).toMatch(/^HTTP\/1\.1 100 /);
    expect(await answerTo(service.url, '/api/v1/tools/trim-video', [EXPECT])).toMatch(/^HTTP\/1\.1 100 /);
    expect((await convert(service.url, { name: 'a.csv', bytes: Buffer.from('a,b\n1,2\n') }, 'html')).status).toBe(200);
  });

  it('refuses a conversion by its first bytes', async () => {
    const body = [field('to_format', 'png'), fileHead(DOT.name), Buffer.concat([DOT.bytes, Buffer.alloc(SENT)])];
    expect(await answerTo(service.url, '/api/v1/convert', [], body)).toMatch(refused);
  });

  it('refuses a small file when all of its form is there, whatever comes first, and keeps nothing of it', async () => {
    const [files, stored] = [objectsIn(service.dataDir), storedIn(service.dataDir)];
    const form = `${file('a.gif', DOT.bytes.toString('latin1'))}${field('to_format', 'png')}${END}`;
    const head = `POST /api/v1/convert HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${FORM}\r\nContent-Length: ${form.length}\r\n\r\n`;
    expect((await raw(service.url, Buffer.from(head + form, 'latin1'))).status).toBe(503);
    expect([objectsIn(service.dataDir), storedIn(service.dataDir)]).toEqual([files, stored]);
  });

  it('answers a request again that it has answered before', async () => {
    const again = await convert(service.url, DOT, 'png', {}, { prefer: 'respond-async', 'idempotency-key': 'first' });
    expect([again.status, again.data?.status]).toEqual([200, 'processing']);
  });

  it('has room again as soon as a job has gone', async () => {
    const { data } = await convert(service.url, DOT, 'png', {}, { prefer: 'respond-async', 'idempotency-key': 'first' });
    expect((await fetch(`${service.url}/api/v1/jobs/${data?.job_id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await convert(service.url, DOT, 'png', {}, { prefer: 'respond-async' })).status).toBe(200);
  });
});

describe('on several machines, a full queue', () => {
  let cluster: Cluster;
  let nats: Nats;
  let url: string;
  beforeAll(async () => {
    cluster = await startCluster();
    const settings = { ...FULL_AT_ONE, pools: { list: [{ name: 'image', toolchain: 'image' }] } };
    url = (await cluster.start('api', {}, settings)).url ?? '';
    nats = await cluster.nats.connect();
    // It says that it is there, and takes nothing.
    const workerAt = { pool: 'image', toolchain: 'image', worker: 'idler', slots: 1 } as const;
    const abilities = () => ({ engines: { sharp: '1' }, broken: new Map(), fault: undefined });
    startPresence(natsPresence(nats), workerAt, { conversionsPerWorker: 0, idleSeconds: 0 }, abilities).changed();
    await eventually(async () => (await poolOf(url, 'image')).workers > 0, 'a worker is known', 30_000);
    expect((await convert(url, DOT, 'png', {}, { prefer: 'respond-async' })).status).toBe(200);
    // That there was room is remembered for a moment.
    await eventually(async () => refused.test(await answerTo(url, '/api/v1/convert', [EXPECT])), 'it is known to be full');
  }, 60_000);
  afterAll(() => cluster?.stop());

  const written = async () => (await nats.manager.streams.info('KV_jobs')).state.last_seq;

  it('refuses by its headers what no other pool can take, and writes nothing', async () => {
    const before = await written();
    expect(await answerTo(url, '/api/v1/convert', [EXPECT])).toMatch(refused);
    expect(await answerTo(url, '/api/v1/batch', [EXPECT])).toMatch(refused);
    expect((await convert(url, DOT, 'png')).status).toBe(503);
    expect(await written()).toBe(before);
  });
});
