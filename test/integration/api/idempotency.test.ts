/** `Idempotency-Key` over HTTP: what is sent twice is done once, and another request under the same key is told so. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually, objectsIn, storedIn } from '../../kit/api/wire.ts';
import { waveHead } from '../../kit/catalog/wave.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { type Service, startService } from '../../kit/roles/service.ts';

const clock = { skew: 0 };
let service: Service;
/** Whose clients may send one request an hour. */
let strict: Service;
let picture: Buffer;
beforeAll(async () => {
  picture = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  const generous = { enabled: true, hourly: 1000, cooldownMs: 0, readsPerMinute: 10_000 };
  [service, strict] = await Promise.all([
    startService({ limits: generous, api: { trustProxy: ['127.0.0.1'] } }, () => Date.now() + clock.skew),
    startService({ limits: { enabled: true, hourly: 1, cooldownMs: 0 } }),
  ]);
});
afterAll(() => Promise.all([service.stop(), strict.stop()]));

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly data?: Record<string, never> & { readonly job_id: string; readonly batch_id: string; readonly status: string };
  readonly error?: { readonly code: string; readonly details: Record<string, unknown> };
}
interface Sent {
  readonly to?: Service;
  readonly key?: string;
  readonly client?: string;
  readonly path?: string;
  readonly fields?: Record<string, string>;
  readonly files?: readonly (readonly [name: string, bytes: Uint8Array])[];
  readonly field?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}
let nextKey = 0;
let key = '';
beforeEach(() => {
  key = `key-${nextKey++}`;
});
afterEach(() => {
  clock.skew = 0;
});

async function send(sent: Sent = {}): Promise<Answer> {
  const {
    path = 'convert',
    fields = { to_format: 'jpg' },
    files = [['a.png', picture]],
    field = 'file',
    client = '10.1.1.1',
    to = service,
  } = sent;
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  for (const [name, bytes] of files) body.append(field, new Blob([bytes as Uint8Array<ArrayBuffer>]), name);
  const headers = { 'x-forwarded-for': client, 'idempotency-key': sent.key ?? key, ...sent.headers };
  const response = await fetch(`${to.url}/api/v1/${path}`, { method: 'POST', body, headers, signal: sent.signal ?? null });
  return { status: response.status, headers: response.headers, ...((await response.json()) as object) };
}
/** A mono WAV. */
function silence(seconds: number): Buffer {
  const samples = Buffer.alloc(seconds * 88_200);
  return Buffer.concat([waveHead({ dataBytes: samples.length }), samples]);
}

const usedBy = async (client: string): Promise<number> => {
  const response = await fetch(`${service.url}/api/v1/limits`, { headers: { 'x-forwarded-for': client } });
  return ((await response.json()) as { data: { tiers: { daily: { used: number } } } }).data.tiers.daily.used;
};

describe('the same request again', () => {
  it('answers the same job, uses no quota and leaves no second file', async () => {
    const client = '10.1.1.2';
    const first = await send({ client });
    const objects = objectsIn(service.dataDir);
    const again = await send({ client });
    expect([again.status, again.data?.status, again.data?.job_id]).toEqual([200, 'done', first.data?.job_id]);
    expect([first, again].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true']);
    expect(await usedBy(client)).toBe(1);
    expect(objectsIn(service.dataDir)).toEqual(objects);
  });

  it('is the same whatever the order and the boundary of its form', async () => {
    const first = await send({ fields: { to_format: 'jpg', img_quality: '60' } });
    const again = await send({ fields: { img_quality: '60', to_format: 'jpg' } });
    expect(again.data?.job_id).toBe(first.data?.job_id);
  });

  it('is answered alike for a tool and for a batch', async () => {
    const tool = { path: 'tools/grayscale-image', fields: {} };
    expect((await send(tool)).data?.job_id).toBe((await send(tool)).data?.job_id);
    const batch = {
      key: `${key}-batch`,
      path: 'batch',
      field: 'files[]',
      files: [['a.png', picture] as const, ['b.png', picture] as const],
    };
    const first = await send(batch);
    const again = await send(batch);
    expect([first, again].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true']);
    expect(first.data?.batch_id).toMatch(/^bat_/);
    expect(again.data?.batch_id).toBe(first.data?.batch_id);
  });

  it('is answered with the failure of a job that failed', async () => {
    const broken = { files: [['a.png', picture.subarray(0, 60)] as const] };
    const [first, again] = [await send(broken), await send(broken)];
    expect([first.status, again.status]).toEqual([500, 500]);
    expect(again.error?.details['job_id']).toBe(first.error?.details['job_id']);
  });

  it('passes the limits, even for a client that has nothing left', async () => {
    const first = await send({ to: strict });
    expect((await send({ to: strict, key: `${key}-other` })).status).toBe(429);
    const again = await send({ to: strict });
    expect([again.status, again.data?.job_id]).toEqual([200, first.data?.job_id]);
  });

  it('makes one job when twenty of it come at once, and takes one share', async () => {
    const client = '10.1.1.4';
    const before = objectsIn(service.dataDir).length;
    const answers = await Promise.all(Array.from({ length: 20 }, () => send({ client })));
    expect(new Set(answers.map(({ data }) => data?.job_id)).size).toBe(1);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(await usedBy(client)).toBe(1);
    // One output: the nineteen others' files have gone, and what tests before this one left may go meanwhile.
    await eventually(() => objectsIn(service.dataDir).length <= before + 1, 'the files of the others have gone');
  });

  it('makes one batch when five of it come at once, and the jobs of one', async () => {
    const client = '10.1.1.5';
    const two = { client, path: 'batch', field: 'files[]', files: [['a.png', picture] as const, ['b.png', picture] as const] };
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(two)));
    expect(new Set(answers.map(({ data }) => data?.batch_id)).size).toBe(1);
    expect(await usedBy(client)).toBe(2);
  });

  it('finds the job that goes on after its client has left', async () => {
    const slow = { fields: { to_format: 'mp3' }, files: [['a.wav', silence(120)] as const] };
    const leaving = new AbortController();
    const before = storedIn(service.dataDir).states.length;
    const left = send({ ...slow, signal: leaving.signal }).catch(() => undefined);
    await eventually(async () => storedIn(service.dataDir).states.length > before, 'the job is there');
    leaving.abort();
    await left;
    const again = await eventually(async () => {
      const answer = await send(slow);
      return answer.data?.status === 'done' ? answer : undefined;
    }, 'the job is done');
    expect(again.status).toBe(200);
  });

  it('is told that the job has gone, where it was deleted', async () => {
    const { data } = await send();
    await fetch(`${service.url}/api/v1/jobs/${data?.job_id}`, { method: 'DELETE' });
    const again = await send();
    expect([again.status, again.error?.code]).toEqual([410, 'JOB_EXPIRED']);
  });

  it('is a new request after two hours', async () => {
    const first = await send();
    clock.skew = 2 * 3600_000 + 60_000;
    const later = await send();
    expect(later.status).toBe(200);
    expect(later.data?.job_id).not.toBe(first.data?.job_id);
  });
});

describe('another request', () => {
  const others: Record<string, Sent> = {
    'with another file': { files: [['a.png', pdf([['x']])]] },
    'with another name': { files: [['b.png', Buffer.alloc(0)]] },
    'with another option': { fields: { to_format: 'jpg', img_quality: '61' } },
    'to another target': { fields: { to_format: 'webp' } },
    'to another address': { path: 'tools/grayscale-image', fields: {} },
  };
  for (const [how, other] of Object.entries(others)) {
    it(`${how} is refused under the same key, and leaves nothing`, async () => {
      await send();
      const before = objectsIn(service.dataDir);
      const { status, error } = await send(other);
      expect([status, error?.code, error?.details['retryable']]).toEqual([422, 'IDEMPOTENCY_MISMATCH', false]);
      expect(objectsIn(service.dataDir)).toEqual(before);
    });
  }

  it('of another client under the same key is its own', async () => {
    const [mine, theirs] = [await send({ client: '10.1.2.1' }), await send({ client: '10.1.2.2' })];
    expect(theirs.status).toBe(200);
    expect(theirs.data?.job_id).not.toBe(mine.data?.job_id);
  });

  it('without a key is always new', async () => {
    const post = async () => {
      const body = new FormData();
      body.set('to_format', 'jpg');
      body.set('file', new Blob([picture as Uint8Array<ArrayBuffer>]), 'a.png');
      const response = await fetch(`${service.url}/api/v1/convert`, { method: 'POST', body });
      return ((await response.json()) as { data: { job_id: string } }).data.job_id;
    };
    expect(await post()).not.toBe(await post());
  });
});

describe('what is not kept', () => {
  it('a refusal: the request may be mended and sent again under its key', async () => {
    const refused = await send({ fields: { to_format: 'jpg', img_quality: '101' } });
    expect(refused.error?.code).toBe('INVALID_OPTION');
    expect((await send()).status).toBe(200);
  });

  for (const [what, bad] of Object.entries({ 'with a space': 'a b', 'of 129 characters': 'k'.repeat(129), 'that is empty': '' })) {
    it(`a key ${what} is refused by name`, async () => {
      const { status, error } = await send({ key: bad });
      expect([status, error?.code, error?.details['header']]).toEqual([400, 'BAD_REQUEST', 'Idempotency-Key']);
      expect(error?.details['allowed']).toBe('1 to 128 visible ASCII characters');
    });
  }

  it('a key in the clear', async () => {
    const secret = `secret-${key}-of-mine`;
    await send({ key: secret, fields: { to_format: 'jpg' } });
    const files = readdirSync(service.dataDir).filter((name) => name.startsWith('filemill.db'));
    expect(files.length).toBeGreaterThan(0);
    for (const name of files) expect(readFileSync(join(service.dataDir, name)).includes(secret)).toBe(false);
  });
});
