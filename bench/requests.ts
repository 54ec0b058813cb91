/** What requests cost that convert nothing, by the server's own CPU time and memory (proc(5)); and a batch from its upload to its last result. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { endProcess, type ServiceProcess, type Settings, startProcess } from '../test/kit/roles/service.ts';
import { cpuOf } from './cpu.ts';

const run = promisify(execFile);
const agent = new Agent({ keepAlive: true, maxSockets: 4 });

export interface Cost {
  readonly what: string;
  readonly measured: string;
}

/** @param folder for data that goes with the run @param picture a small PNG */
export async function costs(folder: string, picture: string): Promise<Cost[]> {
  const limits = { enabled: true, hourly: 1_000_000, daily: 1_000_000, cooldownMs: 3_600_000, readsPerMinute: 1_000_000 };
  const limited = await within(folder, { limits }, async (service) => {
    const form = formOf('file', [picture], 'jpg');
    const { data } = JSON.parse(await send(service, '/api/v1/convert', form)) as { data: { job_id: string } };
    const job = `/api/v1/jobs/${data.job_id}`;
    return [
      {
        what: 'a request refused with 429, CPU',
        measured: `${(await cpuOfEach(service, 2_000, () => send(service, '/api/v1/convert', form))).toFixed(2)} ms`,
      },
      { what: 'GET of a job, CPU', measured: `${(await cpuOfEach(service, 4_000, () => send(service, job))).toFixed(2)} ms` },
    ];
  });
  // Without a worker for sound the job waits, and its listeners stay connected.
  const open = await within(folder, { worker: { slots: { media: 0 } } }, async (service) => [
    {
      what: '2,000 clients that listen to events, memory',
      measured: `${((await bytesOfListeners(service, 2_000)) / 2 ** 20).toFixed(0)} MiB`,
    },
  ]);
  const batch = await within(folder, {}, async (service) => {
    const form = formOf(
      'files[]',
      Array.from({ length: 20 }, () => picture),
      'jpg',
    );
    const took: number[] = [];
    for (let time = 0; time < 12; time++) took.push(await msOfBatch(service, form));
    const warm = took.slice(2).sort((a, b) => a - b);
    return [{ what: 'a batch of 20 small PNG → JPG, p50', measured: `${Math.round(warm[Math.floor(warm.length / 2)] ?? 0)} ms` }];
  });
  agent.destroy();
  return [...limited, ...open, ...batch];
}

async function within<T>(folder: string, settings: Settings, measure: (service: ServiceProcess) => Promise<T>): Promise<T> {
  const data = await mkdtemp(join(folder, 'data-'));
  const service = await startProcess(data, settings, { LOG_LEVEL: 'warn' });
  try {
    return await measure(service);
  } finally {
    await endProcess(service);
    await rm(data, { recursive: true, force: true });
  }
}

const BOUNDARY = 'filemill-bench-boundary';
function formOf(field: string, files: readonly string[], toFormat: string): Buffer {
  const parts = files.flatMap((file, index) => [
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${field}"; filename="${index}.png"\r\n\r\n`),
    readFileSync(file),
    Buffer.from('\r\n'),
  ]);
  const target = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="to_format"\r\n\r\n${toFormat}\r\n--${BOUNDARY}--\r\n`;
  return Buffer.concat([...parts, Buffer.from(target)]);
}

function begin({ url }: ServiceProcess, path: string, form?: Buffer, through: Agent | false = agent): ClientRequest {
  const headers = form === undefined ? {} : { 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, 'content-length': form.length };
  return request(`${url}${path}`, { method: form === undefined ? 'GET' : 'POST', agent: through, headers }).end(form);
}

async function send(service: ServiceProcess, path: string, form?: Buffer): Promise<string> {
  const [response] = (await once(begin(service, path, form), 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Of the server's process alone, ms for each call, a tenth of them before as a warm-up. */
async function cpuOfEach({ child }: ServiceProcess, count: number, call: () => Promise<unknown>): Promise<number> {
  const spent = () => cpuOf(child.pid ?? 0);
  for (let time = 0; time < count / 10; time++) await call();
  const before = spent();
  for (let time = 0; time < count; time++) await call();
  return (spent() - before) / count;
}

async function bytesOfListeners(service: ServiceProcess, count: number): Promise<number> {
  const wave = join(import.meta.dirname, '../.cache/bench.wav');
  await run('ffmpeg', ['-v', 'error', '-y', '-f', 'lavfi', '-i', 'sine=duration=1', wave]);
  const form = formOf('file', [wave], 'mp3');
  const { data } = JSON.parse(await send(service, '/api/v1/convert', form)) as { data: { job_id: string } };
  const resident = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.child.pid}/status`, 'utf8'))?.[1]) * 1024;
  const listen = async () => {
    const [response] = (await once(begin(service, `/api/v1/jobs/${data.job_id}/events`, undefined, false), 'response')) as [
      IncomingMessage,
    ];
    await once(response, 'data');
    return response;
  };
  const listeners = [await listen()];
  const before = resident();
  for (let more = 0; more < count / 50; more++) listeners.push(...(await Promise.all(Array.from({ length: 50 }, listen))));
  const bytes = resident() - before;
  for (const listener of listeners) listener.destroy();
  return bytes;
}

async function msOfBatch(service: ServiceProcess, form: Buffer): Promise<number> {
  const started = performance.now();
  const { data } = JSON.parse(await send(service, '/api/v1/batch', form)) as { data: { batch_id: string } };
  for (;;) {
    const now = JSON.parse(await send(service, `/api/v1/batches/${data.batch_id}`)) as { data: { overall_status: string } };
    if (now.data.overall_status === 'failed') throw new Error('the batch failed');
    if (now.data.overall_status === 'done') return performance.now() - started;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
