/** Several machines in small: API replicas and workers as separate processes over real NATS and S3 servers. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../kit/api/wire.ts';
import { rounds } from '../../kit/exec/rounds.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { type Cluster, type Role, startCluster } from '../../kit/roles/cluster.ts';
import { spawnService } from '../../kit/roles/service.ts';

let cluster: Cluster;
let first: Role;
let second: Role;
let home: string;
let picture: Buffer;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-cluster-test-'));
  picture = await sharp({ create: { width: 64, height: 48, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  cluster = await startCluster();
  [first, second] = await Promise.all([cluster.start('api'), cluster.start('api')]);
  await Promise.all([cluster.start('worker', { POOL: 'image' }), cluster.start('worker', { POOL: 'pdf' })]);
  await eventually(
    async () => (await workersOf(first, 'image')) > 0 && (await workersOf(second, 'pdf')) > 0,
    'both replicas know of the workers',
    30_000,
  );
});
afterAll(async () => {
  await cluster?.stop();
  await rm(home, { recursive: true, force: true });
});

interface Answer {
  readonly status: number;
  readonly data?: { readonly job_id: string; readonly status: string; readonly output?: { readonly url: string } };
  readonly error?: { readonly code: string; readonly details: Record<string, unknown> };
}
const read = async (response: Response): Promise<Answer> => ({ status: response.status, ...((await response.json()) as object) });

async function send(
  to: Role,
  fields: Record<string, string>,
  bytes: Uint8Array,
  name: string,
  path = 'convert',
  headers: Record<string, string> = {},
) {
  const body = new FormData();
  for (const [key, value] of Object.entries(fields)) body.set(key, value);
  body.set('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), name);
  return read(await fetch(`${to.url}/api/v1/${path}`, { method: 'POST', body, headers }));
}
const job = async (at: Role, id: string | undefined) => read(await fetch(`${at.url}/api/v1/jobs/${id}`));
const output = async (at: Role, id: string | undefined) =>
  Buffer.from(await (await fetch(`${at.url}/api/v1/jobs/${id}/output`)).arrayBuffer());

async function poolOf({ url }: Role, pool: string) {
  const { data } = (await (await fetch(`${url}/api/v1/health`)).json()) as {
    data: { queue: Record<string, { workers: number; running: number }> };
  };
  return data.queue[pool];
}
const workersOf = async (at: Role, pool: string): Promise<number> => (await poolOf(at, pool))?.workers ?? 0;
const runningIn = async (at: Role, pool: string): Promise<number> => (await poolOf(at, pool))?.running ?? 0;

describe('two API replicas and two workers', () => {
  it('convert a file that one replica took, and the other replica gives the result', async () => {
    const sent = await send(first, { to_format: 'webp' }, picture, 'a.png');
    expect([sent.status, sent.data?.status]).toEqual([200, 'done']);
    const { format, width, height } = await sharp(await output(second, sent.data?.job_id)).metadata();
    expect([format, width, height]).toEqual(['webp', 64, 48]);
  });

  it('know a job on the other replica as soon as it is answered', async () => {
    for (let n = 0; n < rounds(200, 20); n++) {
      const sent = await send(first, { to_format: 'jpg' }, picture, 'a.png', 'convert', { prefer: 'respond-async' });
      expect((await job(second, sent.data?.job_id)).status).toBe(200);
    }
  });

  it('hand a password to the worker that holds the job, and keep it out of what is stored', async () => {
    const sent = await send(first, { password: 'kestrel-7' }, pdf([['locked']]), 'a.pdf', 'tools/protect-pdf');
    expect(sent.data?.status).toBe('done');
    const path = join(home, 'locked.pdf');
    await writeFile(path, await output(second, sent.data?.job_id));
    expect(execFileSync('pdftotext', ['-upw', 'kestrel-7', path, '-'], { encoding: 'utf8' })).toContain('locked');
    expect(() => execFileSync('pdftotext', [path, '-'], { stdio: 'pipe' })).toThrow();
  });

  it('cancel at one replica what the other took', async () => {
    const sent = await send(first, { to_format: 'jpg' }, picture, 'a.png', 'convert', { prefer: 'respond-async' });
    const { status } = await fetch(`${second.url}/api/v1/jobs/${sent.data?.job_id}`, { method: 'DELETE' });
    expect(status).toBe(204);
    expect((await job(first, sent.data?.job_id)).error?.code).toBe('JOB_EXPIRED');
  });

  it('offer what their workers can do, and nothing else', async () => {
    const refused = await send(first, { to_format: 'mp3' }, picture, 'a.png');
    expect([refused.status, refused.error?.code]).toEqual([400, 'INVALID_FORMAT']);
    const { data } = (await (await fetch(`${second.url}/api/v1/formats`)).json()) as { data: { sources: { format: string }[] } };
    const sources = data.sources.map(({ format }) => format);
    expect(sources).toContain('png');
    expect(sources).not.toContain('mp4');
  });

  it('do a request under one Idempotency-Key once, whichever replica it comes to', async () => {
    const headers = { 'idempotency-key': 'one-of-both' };
    const answers = await Promise.all(
      [first, second, first, second].map((to) => send(to, { to_format: 'jpg' }, picture, 'a.png', 'convert', headers)),
    );
    expect(new Set(answers.map(({ data }) => data?.job_id)).size).toBe(1);
  });
});

describe('a worker', () => {
  it('that may do two conversions ends after them, in good order', async () => {
    const worker = await cluster.start('worker', { POOL: 'media' }, { worker: { conversionsPerWorker: 2, slots: { media: 1 } } });
    await eventually(async () => (await workersOf(first, 'media')) > 0, 'the replica knows of the worker');
    const sound = wave();
    const sent = await Promise.all(['mp3', 'flac'].map((target) => send(first, { to_format: target }, sound, 'a.wav')));
    expect(sent.map(({ data }) => data?.status)).toEqual(['done', 'done']);
    if (worker.child.exitCode === null) await once(worker.child, 'exit');
    expect(worker.child.exitCode).toBe(0);
    await eventually(async () => (await workersOf(first, 'media')) === 0, 'its end is known');
  });

  it('with two slots that may do three conversions does three', async () => {
    const worker = await cluster.start('worker', { POOL: 'media' }, { worker: { conversionsPerWorker: 3, slots: { media: 2 } } });
    await eventually(async () => (await workersOf(first, 'media')) > 0, 'the replica knows of the worker');
    const sent = await Promise.all(
      Array.from({ length: 5 }, () => send(first, { to_format: 'mp3' }, wave(), 'a.wav', 'convert', { prefer: 'respond-async' })),
    );
    if (worker.child.exitCode === null) await once(worker.child, 'exit');
    expect(worker.lines.filter((line) => line.includes('"the job ended"'))).toHaveLength(3);
    const next = await cluster.start('worker', { POOL: 'media' }, { worker: { conversionsPerWorker: 2, slots: { media: 1 } } });
    for (const { data } of sent)
      await eventually(async () => (await job(first, data?.job_id)).data?.status === 'done', 'the others are done by the next', 30_000);
    if (next.child.exitCode === null) await once(next.child, 'exit');
    await eventually(async () => (await workersOf(first, 'media')) === 0, 'its end is known');
  });

  it('that is killed loses nothing: the next one takes its order over', async () => {
    const doomed = await cluster.start('worker', { POOL: 'media' }, { worker: { slots: { media: 1 } } });
    await eventually(async () => (await workersOf(first, 'media')) > 0, 'the replica knows of the worker');
    const sent = await send(first, { to_format: 'mp4', video_crf: '18' }, video(home), 'a.mkv', 'convert', { prefer: 'respond-async' });
    await eventually(async () => (await runningIn(first, 'media')) === 1, 'it has the order', 20_000);
    doomed.child.kill('SIGKILL');
    await cluster.start('worker', { POOL: 'media' }, { worker: { slots: { media: 1 } } });
    const done = await eventually(
      async () => {
        const now = await job(second, sent.data?.job_id);
        return now.data?.status === 'done' ? now : undefined;
      },
      'the job is done',
      100_000,
    );
    expect(done.status).toBe(200);
  });
});

describe('a role that lacks what it needs', () => {
  it.each([
    ['api', {}, 'set NATS_URL'],
    ['worker', { NATS_URL: '127.0.0.1:1' }, 'set POOL'],
    ['local', { NATS_URL: '127.0.0.1:1' }, 'unset NATS_URL'],
  ] as const)('%s says what to set', async (role, environment, words) => {
    const dataDir = await mkdtemp(join(home, 'data-'));
    const { ended, lines } = await spawnService(dataDir, {}, environment, [join(import.meta.dirname, '../../../scripts/filemill'), role]);
    await ended;
    expect(lines.join('\n')).toContain(words);
  });
});

/** A second of a tone, 16-bit mono at 8 kHz. */
function wave(): Buffer {
  return execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', 'sine=duration=1:sample_rate=8000', '-f', 'wav', '-'], {
    maxBuffer: 1 << 24,
  });
}

function video(folder: string): Buffer {
  const path = join(folder, 'a.mkv');
  execFileSync('ffmpeg', [
    '-v',
    'error',
    '-y',
    '-f',
    'lavfi',
    '-i',
    'testsrc2=duration=6:size=768x432:rate=30',
    '-c:v',
    'mpeg4',
    '-q:v',
    '3',
    path,
  ]);
  return execFileSync('cat', [path], { maxBuffer: 1 << 28 });
}
