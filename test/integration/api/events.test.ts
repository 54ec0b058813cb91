/** Server-sent events of a job, as an EventSource would read them. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { convert, type Service, untilEnded } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
let service: Pick<Service, 'url'>;
let home: string;
let video: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-events-'));
  service = await sharedService();
  video = join(home, 'long.mp4');
  await run('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=size=640x360:rate=30:duration=20', '-preset', 'ultrafast', video]);
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

interface Heard {
  readonly event: string;
  readonly id: string;
  readonly data: { data?: { status: string; progress?: number }; error?: { code: string; details: Record<string, unknown> } };
}

/** Reads to the end of the stream. @param each called as events come */
async function listen(id: string, headers: Record<string, string> = {}, each: (heard: Heard) => void = () => {}) {
  const response = await fetch(`${service.url}/api/v1/jobs/${id}/events`, { headers });
  const heard: Heard[] = [];
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s) as [string, string]));
      if (fields['event'] === undefined) continue;
      const one = { event: fields['event'], id: fields['id'] ?? '', data: JSON.parse(fields['data'] ?? '') } as Heard;
      heard.push(one);
      each(one);
    }
  }
  expect(text).toBe('');
  return { response, heard };
}

const begin = async (to: string, file = video) =>
  (await convert(service.url, file, to, {}, { Prefer: 'respond-async' })).data?.job_id ?? '';

it('tell how a video goes on, from its present state to its end', async () => {
  const id = await begin('webm');
  const { response, heard } = await listen(id);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(heard[0]).toMatchObject({ event: 'progress', data: { data: { job_id: id, status: 'processing' } } });
  expect(heard.at(-1)).toMatchObject({ event: 'done', data: { data: { job_id: id, status: 'done' } } });
  const rising = heard.slice(0, -1).flatMap(({ data }) => data.data?.progress ?? []);
  expect(rising.length).toBeGreaterThan(2);
  expect(rising).toEqual([...rising].sort((a, b) => a - b));
  expect(new Set(heard.map((each) => each.id)).size).toBe(heard.length);
  expect(heard.at(-1)?.data).toEqual(await (await fetch(`${service.url}/api/v1/jobs/${id}`)).json());
});

it('of a job that has ended are one, and a client that has it is told not to reconnect', async () => {
  const id = await begin('png');
  await untilEnded(service.url, id);
  const { heard } = await listen(id);
  expect(heard.map(({ event }) => event)).toEqual(['done']);
  const again = await fetch(`${service.url}/api/v1/jobs/${id}/events`, { headers: { 'Last-Event-ID': heard[0]?.id ?? '' } });
  expect(again.status).toBe(204);
  expect((await listen(id, { 'Last-Event-ID': 'at-12' })).heard.map(({ event }) => event)).toEqual(['done']);
});

it('of a job that fails end with the error', async () => {
  const silent = join(home, 'silent.mp4');
  await run('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=size=64x64:duration=1', silent]);
  const id = await begin('mp3', silent);
  const { heard } = await listen(id);
  expect(heard.at(-1)).toMatchObject({
    event: 'failed',
    data: { error: { code: 'CONVERSION_FAILED', details: { reason: 'no_stream', job_id: id } }, data: { status: 'error' } },
  });
});

it('stop when the job is deleted, and then it is gone', async () => {
  const id = await begin('webm');
  const { heard } = await listen(id, {}, ({ event }) => {
    if (event === 'progress') void fetch(`${service.url}/api/v1/jobs/${id}`, { method: 'DELETE' });
  });
  expect(heard.map(({ event }) => event)).not.toContain('done');
  expect((await fetch(`${service.url}/api/v1/jobs/${id}/events`)).status).toBe(410);
});

it('of what never was are none', async () => {
  const response = await fetch(`${service.url}/api/v1/jobs/${'0'.repeat(32)}/events`);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ error: { code: 'JOB_NOT_FOUND' } });
});

it('leave nothing to listen for when the client goes away', async () => {
  const id = await begin('webm');
  const gone = new AbortController();
  const response = await fetch(`${service.url}/api/v1/jobs/${id}/events`, { signal: gone.signal });
  await response.body?.getReader().read();
  gone.abort();
  expect((await untilEnded(service.url, id)).data?.status).toBe('done');
});
