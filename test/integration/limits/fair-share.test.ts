/** Whose share of a pool the orders count towards that the service makes: by address over HTTP, by namespace for ConversionJobs. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SUBMISSION_VERSION, SubmissionAnswer, submissionSubjects } from '../../../src/contracts/messages/submission.ts';
import type { Nats } from '../../../src/nats/connection.ts';
import { question } from '../../../src/nats/requests.ts';
import { eventually } from '../../kit/api/wire.ts';
import { type Cluster, type Role, startCluster } from '../../kit/roles/cluster.ts';
import { convert, endProcess, readAnswer, type Service, startService } from '../../kit/roles/service.ts';

let picture: Buffer;
beforeAll(async () => {
  picture = await sharp({ create: { width: 64, height: 48, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
});

const file = () => ({ name: 'a.png', bytes: picture });
/** A job that waits. @param from an address */
async function send(url: string, from: string): Promise<string> {
  const { data, error } = await convert(url, file(), 'jpg', {}, { 'x-forwarded-for': from, prefer: 'respond-async' });
  if (data === undefined) throw new Error(`refused: ${JSON.stringify(error)}`);
  return data.job_id;
}

describe('on one machine', () => {
  let service: Service;
  beforeAll(async () => {
    // No worker takes orders.
    service = await startService({
      limits: { cooldownMs: 0 },
      api: { trustProxy: ['127.0.0.1'] },
      worker: { slots: { image: 0 } },
    });
  });
  afterAll(() => service?.stop());

  const clientOf = (id: string | undefined) => {
    const database = new DatabaseSync(join(service.dataDir, 'filemill.db'), { readOnly: true });
    const row = database.prepare('SELECT client FROM orders WHERE job_id = ?').get(id ?? '');
    database.close();
    return row?.['client'];
  };
  const post = async (path: string, field: string, fields: Readonly<Record<string, string>>) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    form.append(field, new Blob([new Uint8Array(picture)]), 'a.png');
    const headers = { 'x-forwarded-for': '203.0.113.7', prefer: 'respond-async' };
    return fetch(`${service.url}${path}`, { method: 'POST', body: form, headers });
  };

  it('orders belong to their client, whichever request made them, by an id that shows no address', async () => {
    const [first, second, other] = [
      await send(service.url, '203.0.113.7'),
      await send(service.url, '203.0.113.7'),
      await send(service.url, '203.0.113.8'),
    ];
    expect(clientOf(first)).toMatch(/^[0-9a-f]{32}$/);
    expect(clientOf(second)).toBe(clientOf(first));
    expect(clientOf(other)).toMatch(/^[0-9a-f]{32}$/);
    expect(clientOf(other)).not.toBe(clientOf(first));
    const tool = await readAnswer(await post('/api/v1/tools/grayscale-image', 'file', {}));
    expect(clientOf(tool.data?.job_id)).toBe(clientOf(first));
    const batch = (await (await post('/api/v1/batch', 'files[]', { to_format: 'jpg' })).json()) as {
      data: { jobs: { job_id: string }[] };
    };
    expect(clientOf(batch.data.jobs[0]?.job_id)).toBe(clientOf(first));
  });
});

describe('over NATS', () => {
  let cluster: Cluster;
  let nats: Nats;
  let api: Role;
  let origin: Server;
  beforeAll(async () => {
    origin = createServer((_, response) => void response.end(picture)).listen(0, '127.0.0.1');
    await once(origin, 'listening');
    const { port } = origin.address() as AddressInfo;
    cluster = await startCluster();
    nats = await cluster.nats.connect();
    api = await cluster.start(
      'api',
      {},
      {
        fetch: { http: true, ports: [port], allow: ['127.0.0.1/32'] },
        limits: { cooldownMs: 0 },
        api: { trustProxy: ['127.0.0.1'] },
      },
    );
    const worker = await cluster.start('worker', { POOL: 'image' });
    await eventually(
      async () => {
        const { data } = (await (await fetch(`${api.url}/api/v1/formats`)).json()) as { data: { sources: { format: string }[] } };
        return data.sources.some(({ format }) => format === 'png');
      },
      'the replica knows of the worker',
      30_000,
    );
    // What the pool can do stays known, and no worker takes orders.
    await endProcess({ ...worker, url: '' });
  });
  afterAll(async () => {
    await cluster?.stop();
    origin?.close();
  });

  const bandOf = (id: string | undefined) =>
    eventually(async () => {
      const message = await nats.manager.streams.getMessage('convert-image', { last_by_subj: `convert.image.*.${id}` });
      return message?.subject.split('.')[2];
    }, 'the order');
  const submit = async (uid: string, namespace: string): Promise<string> => {
    const { port } = origin.address() as AddressInfo;
    const source = { url: `http://127.0.0.1:${port}/a.png` };
    const text = JSON.stringify({ version: SUBMISSION_VERSION, uid, namespace, source, toFormat: 'webp' });
    return eventually(async () => {
      const answer = SubmissionAnswer.parse(JSON.parse(await question(nats, submissionSubjects.convert, text)));
      return 'data' in answer ? answer.data.job_id : undefined;
    }, 'the job');
  };

  it('a new client comes before clients that have orders', async () => {
    const url = api.url ?? '';
    const bands = [];
    for (let n = 0; n < 9; n++) bands.push(await bandOf(await send(url, '203.0.113.7')));
    expect(bands).toEqual(['interactive-small', ...Array.from({ length: 7 }, () => 'interactive-1'), 'interactive-2']);
    expect(await bandOf(await send(url, '203.0.113.8'))).toBe('interactive-small');
  });

  it('ConversionJobs of one namespace are one client', async () => {
    expect(await bandOf(await submit('0c6f4e5a-1', 'team-a'))).toBe('interactive-small');
    expect(await bandOf(await submit('0c6f4e5a-2', 'team-a'))).toBe('interactive-1');
    expect(await bandOf(await submit('0c6f4e5a-3', 'team-b'))).toBe('interactive-small');
  });
});
