/** What requests of assistants leave in memory: nothing, however they end. (100,000 of them were measured by hand: docs/mcp.md.) */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { asVersion, post, recording, send } from '../../kit/api/assistant.ts';
import { eventually, storedIn } from '../../kit/api/wire.ts';
import { rounds as times } from '../../kit/exec/rounds.ts';
import { type Service, startService } from '../../kit/roles/service.ts';

const MiB = 1 << 20;
let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
function used(): number {
  for (let n = 0; n < 4; n++) collect();
  return process.memoryUsage().heapUsed;
}

const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
const job = { name: 'get_job_status', arguments: { job_id: '0'.repeat(32) } };

/** Each kind of end that an answer has. */
const KINDS: readonly (() => Promise<unknown>)[] = [
  () => send(service.url, '2025-11-25', rpc('ping')),
  () => send(service.url, '2026-07-28', rpc('server/discover')),
  () => send(service.url, '2025-11-25', rpc('tools/call', job)),
  () => send(service.url, '2025-11-25', rpc('tools/call', { ...job, _meta: { progressToken: 1 } })),
  () => send(service.url, '2026-07-28', rpc('tools/call', { ...job, _meta: { progressToken: 1 } })),
  () => send(service.url, '2025-11-25', rpc('tools/call', { name: 'convert_file', arguments: { file: '%', to_format: 'png' } })),
  () => post(service.url, '{'),
  async () => {
    const { message, headers } = asVersion('2026-07-28', rpc('tools/call', { ...job, arguments: { job_id: 'none', wait_seconds: 25 } }));
    const hangUp = new AbortController();
    const answer = post(service.url, message, headers, hangUp.signal).catch(() => undefined);
    hangUp.abort();
    await answer;
  },
];

async function rounds(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await Promise.all(KINDS.map((kind) => kind()));
}

it('requests leave nothing', async () => {
  await rounds(150);
  const before = used();
  await rounds(times(400, 150));
  expect((used() - before) / MiB).toBeLessThan(4);
});

it('a file that stands in a call is not kept while its job runs', async () => {
  const file = recording(90).toString('base64');
  const params = { name: 'convert_file', arguments: { file, filename: 'a.wav', to_format: 'mp3', mp3_quality: 0 } };
  // The test's own text is there before and after: what grows is the service's.
  const text = JSON.stringify(rpc('tools/call', params));
  await post(service.url, text);
  const before = used();
  const answer = post(service.url, text);
  await eventually(() => storedIn(service.dataDir).states.includes('running'), 'a job that runs');
  const grown = used() - before;
  expect(storedIn(service.dataDir).states).toContain('running');
  expect(grown / MiB).toBeLessThan(file.length / MiB / 2);
  expect((await answer).body?.result?.structuredContent?.status).toBe('done');
});
