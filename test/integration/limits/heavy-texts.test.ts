/** A client with many texts that take seconds each, beside one document of another: what ends before that is counted, not how long it takes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { contentOf } from '../../kit/catalog/content.ts';
import { docx, paragraph } from '../../kit/fixtures/documents/ooxml.ts';
import { convert, convertTo, type Service, startService, untilEnded } from '../../kit/roles/service.ts';

let service: Service;
let folder: string;
let document: string;
let database: DatabaseSync;
let orders: StatementSync;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-heavy-'));
  service = await startService({
    limits: { cooldownMs: 0 },
    api: { trustProxy: ['127.0.0.1'] },
    worker: { slots: { image: 0, media: 0, pdf: 0, office: 2, assets: 0, web: 0 } },
  });
  database = new DatabaseSync(join(service.dataDir, 'filemill.db'), { readOnly: true });
  orders = database.prepare('SELECT job_id FROM orders');
  document = await docx(join(folder, 'letter.docx'), contentOf('letter'), paragraph('x'));
  // LibreOffice has started.
  await convertTo(service.url, folder, document, 'pdf');
});
afterAll(async () => {
  database?.close();
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Short lines: the smaller the file, the more of them for each byte. */
const text = (bytes: number): Buffer => Buffer.from('ab\n'.repeat(bytes / 3));
const send = async (file: Parameters<typeof convert>[1], from: string): Promise<string> => {
  const { data, error } = await convert(service.url, file, 'pdf', {}, { 'x-forwarded-for': from, prefer: 'respond-async' });
  if (data === undefined) throw new Error(`refused: ${JSON.stringify(error)}`);
  return data.job_id;
};
/** How many of these jobs have ended: their orders are gone. Asking for so many would meet a limit. */
const countEnded = (ids: readonly string[]): number => {
  const waiting = new Set(orders.all().map((row) => row['job_id']));
  return ids.filter((id) => !waiting.has(id)).length;
};

it('a document of another client is done before texts that came earlier, small or large', async () => {
  const texts: string[] = [];
  for (let n = 0; n < 12; n++) texts.push(await send({ name: `${n}.txt`, bytes: text(240_000 + 15_000 * n) }, '203.0.113.7'));
  // The texts have both slots.
  await pause(1_000);
  const large = { name: 'large.txt', bytes: Buffer.concat([text(300), Buffer.alloc(2 << 20, ' ')]) };
  for (const [file, client] of [
    [document, '203.0.113.8'],
    [large, '203.0.113.9'],
  ] as const) {
    const before = countEnded(texts);
    const id = await send(file, client);
    while (countEnded([id]) === 0) await pause(50);
    const meanwhile = countEnded(texts) - before;
    expect((await untilEnded(service.url, id)).data?.status).toBe('done');
    // Those that were under way, and as many that were further than the others.
    expect(meanwhile, String(client)).toBeLessThanOrEqual(3);
    expect(before + meanwhile).toBeLessThan(12);
  }
}, 300_000);
