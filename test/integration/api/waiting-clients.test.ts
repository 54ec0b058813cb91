/** How soon a client's small job begins beside others whose small files are large work: every slot is theirs, for minutes. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobRecord } from '../../../src/jobs/record.ts';
import { JobRecordSchema } from '../../../src/jobs/record-schema.ts';
import type { Nats } from '../../../src/nats/connection.ts';
import { eventually } from '../../kit/api/wire.ts';
import { type Cluster, type Role, startCluster } from '../../kit/roles/cluster.ts';
import { convert, type Service, startService, untilEnded } from '../../kit/roles/service.ts';

/** Pandoc looks for the end of each reference in the rest of the text: 120 kB take it more than a minute, which is all that it is given. */
const LONG = { name: 'long.md', bytes: Buffer.from(Array.from({ length: 8_000 }, (_, n) => `[text ${n}][name ${n}]`).join(' ')) };
const SMALL = { name: 'small.md', bytes: Buffer.from('# Of the one who waits\n') };
const SETTINGS = { limits: { cooldownMs: 0 }, api: { trustProxy: ['127.0.0.1'] } };
const SLOTS = { image: 0, media: 0, pdf: 0, web: 0, office: 2 };

/** @returns the job's id */
async function send(url: string, client: number, file: { name: string; bytes: Buffer }): Promise<string> {
  const from = { 'x-forwarded-for': `203.0.113.${client}`, prefer: 'respond-async' };
  const { data, error } = await convert(url, file, 'html', {}, from);
  if (data === undefined) throw new Error(`refused: ${JSON.stringify(error)}`);
  return data.job_id;
}

interface Ground {
  readonly slots: number;
  readonly url: string;
  readonly recordOf: (id: string) => Promise<JobRecord>;
}

/** So many clients, each with two files; then one with a small one. @returns how long that waited until it began, s */
async function waitedBeside({ url, slots, recordOf }: Ground, clients: number): Promise<number> {
  const long: string[] = [];
  for (let client = 1; client <= clients; client++) long.push(await send(url, client, LONG), await send(url, client, LONG));
  await eventually(
    async () => (await Promise.all(long.map(recordOf))).filter(({ state }) => state === 'running').length >= slots,
    'the slots are taken',
    20_000,
  );
  const sent = performance.now();
  const small = await send(url, 200, SMALL);
  await eventually(async () => (await recordOf(small)).startedAt !== undefined, 'the small job begins', 60_000);
  const seconds = (performance.now() - sent) / 1000;
  const ended = await untilEnded(url, small);
  expect(ended.data?.status).toBe('done');
  for (const id of long) await fetch(`${url}/api/v1/jobs/${id}`, { method: 'DELETE' });
  console.log(`beside ${clients}: began after ${seconds.toFixed(1)} s`);
  return seconds;
}

describe('on one machine with two slots', () => {
  let service: Service;
  let ground: Ground;
  beforeAll(async () => {
    service = await startService({ ...SETTINGS, worker: { slots: SLOTS } });
    const database = new DatabaseSync(join(service.dataDir, 'filemill.db'), { readOnly: true });
    const query = database.prepare('SELECT record FROM jobs WHERE id = ?');
    ground = {
      url: service.url,
      slots: SLOTS.office,
      recordOf: async (id) => JobRecordSchema.parse(JSON.parse(String(query.get(id)?.['record']))),
    };
  });
  afterAll(() => service?.stop());

  it('beside one client it begins within 5 s', { timeout: 120_000 }, async () => expect(await waitedBeside(ground, 1)).toBeLessThan(5));

  it('beside ten clients it begins within 30 s', { timeout: 180_000 }, async () => expect(await waitedBeside(ground, 10)).toBeLessThan(30));
});

describe('over NATS, with a worker of one slot', () => {
  let cluster: Cluster;
  let ground: Ground;
  let nats: Nats;
  let api: Role;
  beforeAll(async () => {
    cluster = await startCluster();
    nats = await cluster.nats.connect();
    api = await cluster.start('api', {}, SETTINGS);
    await cluster.start('worker', { POOL: 'office' }, { worker: { slots: { office: 1 } } });
    const recordOf = async (id: string) => {
      const found = await nats.manager.streams.getMessage('KV_jobs', { last_by_subj: `$KV.jobs.office.${id}` });
      if (found === null) throw new Error('the record is not there');
      return JobRecordSchema.parse(JSON.parse(found.string()));
    };
    ground = { url: api.url ?? '', slots: 1, recordOf };
    const readsMarkdown = async () => (await (await fetch(`${api.url}/api/v1/formats`)).text()).includes('"md"');
    await eventually(readsMarkdown, 'the replica knows of the worker', 60_000);
  }, 120_000);
  afterAll(() => cluster?.stop());

  it('beside one client it begins within 5 s', { timeout: 120_000 }, async () => expect(await waitedBeside(ground, 1)).toBeLessThan(5));

  it('beside ten clients it begins within 30 s', { timeout: 180_000 }, async () => expect(await waitedBeside(ground, 10)).toBeLessThan(30));
});
