/** A file of the largest size by a real tus client, cut off three times, once by the end of the service itself: it goes on, comes out whole, and costs no memory. */

import { execFile } from 'node:child_process';
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Upload } from 'tus-js-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectTo, eventually, objectsIn } from '../../kit/api/wire.ts';
import { waveHead } from '../../kit/catalog/wave.ts';
import { convert, endProcess, readAnswer, type ServiceProcess, startProcess, untilEnded } from '../../kit/roles/service.ts';

const run = promisify(execFile);
const MAX = 209_715_200;
const MiB = 1 << 20;

let folder: string;
let source: string;
let service: ServiceProcess;
/** One port for all its lives: the client knows the upload by its address. */
let environment: Readonly<Record<string, string>> = {};
const start = async () => {
  service = await startProcess(join(folder, 'data'), {}, environment);
};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-large-'));
  await chmod(folder, 0o755);
  await mkdir(join(folder, 'data'));
  source = await longSound();
  await start();
  environment = { PORT: new URL(service.url).port };
});
afterAll(async () => {
  await endProcess(service, 'SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

/** A WAV of the largest size, no MiB of which is like another. */
async function longSound(): Promise<string> {
  const path = join(folder, 'long.wav');
  const file = await open(path, 'w');
  const head = waveHead({ dataBytes: MAX - 44, channels: 2 });
  await file.write(head);
  const tone = Buffer.from(Int16Array.from({ length: MiB }, (_, n) => 8_000 * Math.sin(n / 20)).buffer);
  for (let at = head.length, n = 0; at < MAX; n++) {
    const block = tone.subarray(n * 44, n * 44 + Math.min(MiB, MAX - at));
    await file.write(block);
    at += block.length;
  }
  await file.close();
  return path;
}

interface Sent {
  readonly url: string;
  /** Where the service said it was when the client began, bytes. */
  readonly from: number;
}

/** Sends from where the service is. @param until bytes after which `cut` is called once; the client then gives up */
function send(url: string | undefined, until = Number.POSITIVE_INFINITY, cut: () => Promise<unknown> = async () => {}): Promise<Sent> {
  return new Promise((resolve, reject) => {
    let from = 0;
    let begun = false;
    const done = () => resolve({ url: upload.url ?? '', from });
    let over = false;
    const upload = new Upload(createReadStream(source), {
      endpoint: `${service.url}/api/v1/uploads`,
      ...(url === undefined ? {} : { uploadUrl: url }),
      uploadSize: MAX,
      chunkSize: Number.POSITIVE_INFINITY,
      retryDelays: null,
      metadata: { filename: 'long.wav' },
      onAfterResponse(request, response) {
        if (request.getMethod() === 'HEAD') from = Number(response.getHeader('Upload-Offset'));
      },
      onProgress(bytes) {
        if (bytes < until || begun) return;
        begun = true;
        over = true;
        void cut()
          .then(() => upload.abort())
          .then(done, reject);
      },
      onError: (error) => (over ? undefined : reject(error)),
      onSuccess: done,
    });
    upload.start();
  });
}

/** MiB of a field of /proc/<pid>/status (proc_pid_status(5)). */
const memory = (name: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${service.child.pid}/status`, 'utf8'))?.[1]) / 1024;

/** A hash of the samples: what FLAC and WAV must agree on. */
async function heard(path: string): Promise<string> {
  const { stdout } = await run('ffmpeg', ['-v', 'error', '-i', path, '-map', '0:a', '-c:a', 'pcm_s16le', '-f', 'md5', '-']);
  return stdout.trim();
}

it('keeps what it had of a body when it is told to stop', async () => {
  const created = await fetch(`${service.url}/api/v1/uploads`, {
    method: 'POST',
    headers: { 'tus-resumable': '1.0.0', 'upload-length': String(9 * MiB) },
  });
  const url = created.headers.get('location') ?? '';
  const socket = connectTo(url);
  const headers = [
    `PATCH ${new URL(url).pathname} HTTP/1.1`,
    'Host: localhost',
    'Tus-Resumable: 1.0.0',
    'Upload-Offset: 0',
    'Content-Type: application/offset+octet-stream',
    `Content-Length: ${9 * MiB}`,
  ];
  socket.write(`${headers.join('\r\n')}\r\n\r\n`);
  socket.write(Buffer.alloc(5 * MiB));
  const written = () => objectsIn(join(folder, 'data')).reduce((sum, path) => sum + statSync(path).size, 0);
  // What is not written yet is less than a block.
  await eventually(() => written() > 4 * MiB, 'the bytes to come');
  await endProcess(service);
  await start();
  const head = await fetch(url, { method: 'HEAD', headers: { 'tus-resumable': '1.0.0' } });
  expect(Number(head.headers.get('upload-offset'))).toBeGreaterThan(4 * MiB);
  await fetch(url, { method: 'DELETE' });
});

it('goes on after every cut, is converted whole, and is never in memory', { timeout: 300_000 }, async () => {
  const first = await send(undefined, 60 * MiB);
  const second = await send(first.url, 110 * MiB, () => endProcess(service, 'SIGKILL'));
  await start();
  // What a first conversion loads stays, and is not the upload's.
  await convert(service.url, { name: 'small.csv', bytes: Buffer.from('a,b\n1,2\n') }, 'html');
  const before = memory('VmRSS');
  // Sets the high-water mark back to what is used now (proc_pid_clear_refs(5)).
  await writeFile(`/proc/${service.child.pid}/clear_refs`, '5');
  const third = await send(first.url, 160 * MiB);
  const last = await send(first.url);
  const froms = [second.from, third.from, last.from];
  console.log(
    `resumed at ${froms.map((at) => Math.round(at / MiB)).join(', ')} MiB; RSS raised by ${Math.round(memory('VmHWM') - before)} MiB`,
  );
  // A client's death costs what was on its way, that of the service the piece that it was writing.
  expect(second.from).toBeGreaterThan(30 * MiB);
  expect(third.from).toBeGreaterThan(second.from);
  expect(last.from).toBeGreaterThan(third.from);
  expect(last.from).toBeLessThan(MAX);
  expect(memory('VmHWM') - before).toBeLessThan(100);

  const body = new FormData();
  body.set('upload_id', first.url.split('/').pop() ?? '');
  body.set('to_format', 'flac');
  const answer = await readAnswer(await fetch(`${service.url}/api/v1/convert`, { method: 'POST', body }));
  expect(answer.data?.status).toBe('processing');
  expect(memory('VmHWM') - before).toBeLessThan(100);
  const ended = await untilEnded(service.url, answer.data?.job_id ?? '');
  expect(ended.data).toMatchObject({ status: 'done', output: { filename: 'long-filemill.flac' } });
  const result = join(folder, 'out.flac');
  await writeFile(result, Buffer.from(await (await fetch(ended.data?.output?.url ?? '')).arrayBuffer()));
  expect(await heard(result)).toBe(await heard(source));

  expect((await fetch(first.url, { method: 'DELETE' })).status).toBe(204);
  expect(objectsIn(join(folder, 'data')).filter((path) => path.includes('/uploads/'))).toEqual([]);
});
