/** What an API replica holds on to: its memory while job after job passes through it. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { eventually } from '../test/kit/api/wire.ts';
import { startCluster } from '../test/kit/roles/cluster.ts';
import { poolOf } from '../test/kit/roles/crew.ts';
import { startChild } from './child.ts';
import { quantile, sizeOf } from './rows.ts';

const TOGETHER = 16;
const LOOKS = 100;
const BOUNDARY = 'filemill-bench-boundary';

interface Look {
  readonly jobs: number;
  readonly residentBytes: number;
  /** Live objects, and garbage that was not collected yet. */
  readonly heapBytes: number;
}

/** @param picture path of a small PNG: whole jobs by an API replica over NATS and S3, but for the conversion */
export async function replica(picture: string): Promise<void> {
  const count = sizeOf('BENCH_REPLICA_JOBS', 100_000);
  const machines = await startCluster();
  try {
    const api = await machines.start('api', { LOG_LEVEL: 'warn' });
    const { url = '' } = api;
    const worker = await startChild('noop-worker.ts', {
      servers: machines.nats.addresses,
      pool: 'image',
      slots: TOGETHER,
      engines: { sharp: '1' },
    });
    await eventually(async () => (await poolOf(url, 'image')).workers > 0, 'the replica knows of the worker', 30_000);
    const started = performance.now();
    const looks = await pass(url, picture, count, () => look(url, api.child.pid ?? 0)).catch((error: unknown) => {
      console.error(api.lines.slice(-5).join('\n'));
      throw error;
    });
    const seconds = (performance.now() - started) / 1000;
    await worker.end();
    tell(looks, count);
    console.log(`\n${count.toLocaleString('en')} jobs, ${Math.round(count / seconds)} a second.`);
  } finally {
    await machines.stop();
  }
}

/** For each tenth of the way: what is held shows in the lowest heap, what the machine must have in the largest resident size. */
function tell(looks: readonly Look[], count: number): void {
  console.log('\n| jobs so far | heap at its lowest, MiB | resident p50, MiB | at most |\n|---|---|---|---|');
  const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(0);
  for (let tenth = 1; tenth <= 10; tenth++) {
    const own = looks.filter(({ jobs }) => Math.ceil((jobs * 10) / count) === tenth);
    const resident = own.map(({ residentBytes }) => residentBytes);
    const heap = Math.min(...own.map(({ heapBytes }) => heapBytes));
    console.log(
      `| ${((count * tenth) / 10).toLocaleString('en')} | ${mib(heap)} | ${mib(quantile(resident, 0.5))} | ${mib(Math.max(...resident))} |`,
    );
  }
}

async function look(url: string, pid: number): Promise<Omit<Look, 'jobs'>> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return {
    residentBytes: Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024,
    heapBytes: Number(/^nodejs_heap_size_used_bytes (\S+)/m.exec(metrics)?.[1]),
  };
}

async function pass(url: string, picture: string, count: number, see: () => Promise<Omit<Look, 'jobs'>>): Promise<Look[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: TOGETHER });
  const body = Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="to_format"\r\n\r\njpg\r\n`),
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n`),
    readFileSync(picture),
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
  const looks: Look[] = [];
  let [begun, ended] = [0, 0];
  const client = async () => {
    while (begun++ < count) {
      await post(url, agent, body);
      if (++ended % Math.ceil(count / LOOKS) === 0) looks.push({ jobs: ended, ...(await see()) });
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, client));
  agent.destroy();
  return looks;
}

/** A job to its end. @throws when it does not end well */
function post(url: string, agent: Agent, body: Buffer): Promise<void> {
  const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, 'content-length': body.length };
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}/api/v1/convert`, { method: 'POST', agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode === 200 && text.includes('"status":"done"')) resolve();
        else reject(new Error(`answered ${response.statusCode}: ${text.slice(0, 300)}`));
      });
    });
    outgoing.on('error', reject).end(body);
  });
}
