/** One worker of three is frozen: how long jobs take that are sent meanwhile. The workers' loop is real, their conversions are not. */
import { type ChildProcess, spawn } from 'node:child_process';
import { ensureJobs, openNatsJobs } from '../src/jobs/nats/jobs.ts';
import { ensurePool } from '../src/queue/nats/pool.ts';
import { openNatsQueue } from '../src/queue/nats/queue.ts';
import { aRecord } from '../test/conformance/samples.ts';
import { eventually } from '../test/kit/api/wire.ts';
import { startNats } from '../test/kit/nats/nats.ts';
import { quantile, sizeOf } from './rows.ts';

/** Of two slots each: a process of a stub has one. */
const WORKERS = [
  ['w0', 'w1'],
  ['w2', 'w3'],
  ['w4', 'w5'],
] as const;
const CLIENTS = 2;
const ACK_WAIT_MS = 30_000;

export async function frozen(): Promise<void> {
  const each = sizeOf('BENCH_FROZEN', 100);
  const servers = await startNats();
  const nats = await servers.connect();
  await ensureJobs(nats, 1);
  await ensurePool(nats, 'image', { capacity: 1_000, replicas: 1 });
  const [jobs, queue] = [openNatsJobs(nats), openNatsQueue(nats)];
  const kit = new URL('../test/kit/worker/stub-worker.ts', import.meta.url).href;
  const start = (name: string): ChildProcess => {
    const kind = { servers: servers.addresses, name, ackWaitMs: ACK_WAIT_MS, behaviour: 'end' };
    const text = `(await import('${kit}')).runStub(${JSON.stringify(kind)})`;
    return spawn(process.execPath, ['-e', text], { stdio: ['ignore', 'ignore', 'inherit'] });
  };
  const workers = WORKERS.map((names) => names.map(start));
  const job = async (): Promise<number> => {
    const now = Date.now();
    const began = performance.now();
    const { record } = await jobs.create(aRecord({ createdAt: now, expiresAt: now + 7_200_000 }));
    await queue.publish({ version: 1, jobId: record.id, pool: 'image', lane: 'interactive' });
    await eventually(async () => (await jobs.get(record.id))?.record.state === 'done', 'the job ends', 60_000);
    return performance.now() - began;
  };
  const round = async (): Promise<number[]> => {
    const taken: number[] = [];
    const client = async () => {
      for (let n = 0; n < each; n++) taken.push(await job());
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    return taken;
  };
  try {
    const waiting = async () => (await nats.manager.consumers.info('convert-image', 'interactive')).num_waiting;
    await eventually(async () => (await waiting()) === WORKERS.flat().length, 'the workers ask for orders', 60_000);
    console.log('\n| frozen | p50 | p90 | p99 | longest |\n|---|---|---|---|---|');
    for (const [name, worker] of [['none', []], ...workers.map((processes, n) => [`worker ${n}`, processes] as const)] as const) {
      for (const child of worker) child.kill('SIGSTOP');
      const taken = await round();
      for (const child of worker) child.kill('SIGCONT');
      const at = (share: number) => `${Math.round(quantile(taken, share))} ms`;
      console.log(`| ${name} | ${at(0.5)} | ${at(0.9)} | ${at(0.99)} | ${at(1)} of ${taken.length} jobs |`);
    }
  } finally {
    for (const child of workers.flat()) child.kill('SIGKILL');
    await queue.close();
    await servers.stop();
  }
}
