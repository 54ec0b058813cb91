/** What a full service still gets done while far more is asked of it than it can do. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../test/kit/api/wire.ts';
import { startCluster } from '../test/kit/roles/cluster.ts';
import { poolOf } from '../test/kit/roles/crew.ts';
import { cpuOf } from './cpu.ts';
import { GOAL_HEAD, goalRow, sizeOf } from './rows.ts';

/** Enough to keep the worker busy. */
const CAPACITY = 8;
/** Some of the requests beyond the capacity are large: they are refused before their body is read, bytes. */
const LARGE = 20 * 1024 * 1024;
const LARGE_EACH = 20;
const BOUNDARY = 'filemill-bench-boundary';

/** @param picture path of a small PNG, of which a large AVIF is made: what is measured is work, not the sending of files */
export async function overload(picture: string): Promise<void> {
  const seconds = sizeOf('BENCH_OVERLOAD_SECONDS', 20);
  const times = sizeOf('BENCH_OVERLOAD_TIMES', 10);
  const machines = await startCluster();
  try {
    const settings = { upkeep: { queueCapacity: CAPACITY }, worker: { slots: { image: 1 } } };
    const api = await machines.start('api', { LOG_LEVEL: 'warn' }, settings);
    const { url = '' } = api;
    await machines.start('worker', { POOL: 'image', LOG_LEVEL: 'warn' }, settings);
    await eventually(async () => (await poolOf(url, 'image')).workers > 0, 'the replica knows of the worker', 30_000);
    const sender = senderTo(url, readFileSync(picture));
    await sender.keepBusy(2_000);
    const alone = await sender.keepBusy(seconds * 1_000);
    const cpu = cpuOf(api.child.pid ?? 0);
    const flood = sender.flood((alone / seconds) * times, seconds * 1_000);
    const waitedFor = await sender.keepBusy(seconds * 1_000);
    const { waiting, running } = await poolOf(url, 'image');
    const { refused, taken } = await flood;
    const beside = waitedFor + taken - waiting - running;
    const perRefusal = (cpuOf(api.child.pid ?? 0) - cpu) / Math.max(1, refused);
    sender.close();
    console.log(`\n${GOAL_HEAD}`);
    goalRow(
      `pictures done at ${times} times the demand, of those done without it`,
      'at least 90 %',
      `${((beside / alone) * 100).toFixed(0)} %: ${(beside / seconds).toFixed(1)} of ${(alone / seconds).toFixed(1)} a second`,
    );
    goalRow('refused meanwhile, one in twenty of 20 MiB', '', `${(refused / seconds).toFixed(0)} a second`);
    goalRow('CPU of the replica, by refusal, all else that it did included', '', `${perRefusal.toFixed(1)} ms`);
  } finally {
    await machines.stop();
  }
}

function senderTo(url: string, picture: Buffer) {
  const agent = new Agent({ keepAlive: true, maxSockets: 200 });
  const part = (name: string, more = '') => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`;
  const form = (file: Buffer) =>
    Buffer.concat([
      Buffer.from(`${part('to_format')}avif\r\n${part('img_resize_w')}1000\r\n${part('file', '; filename="a.png"')}`),
      file,
      Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
    ]);
  const [usual, large] = [form(picture), form(Buffer.concat([picture, Buffer.alloc(LARGE)]))];

  /** @returns the status; 0 where the connection broke under what was still being sent */
  const post = (body: Buffer, headers = {}): Promise<number> =>
    new Promise((resolve) => {
      const sent = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, 'content-length': body.length, ...headers };
      const outgoing = request(`${url}/api/v1/convert`, { method: 'POST', agent, headers: sent }, (response) => {
        response.resume().on('end', () => {
          resolve(response.statusCode ?? 0);
          // As curl does: who has been refused sends no more.
          if (!outgoing.writableFinished) outgoing.destroy();
        });
      });
      outgoing.on('error', () => resolve(0)).end(body);
    });

  return {
    /** Clients that each wait for their job, and come again when they are refused. @returns how many were done */
    async keepBusy(ms: number): Promise<number> {
      const until = performance.now() + ms;
      let done = 0;
      const client = async () => {
        while (performance.now() < until) {
          const status = await post(usual);
          if (status === 200) done++;
          else await pause(20);
        }
      };
      await Promise.all(Array.from({ length: CAPACITY / 2 }, client));
      return done;
    },
    /** Asks so often, whatever is answered. and waits for nothing. */
    async flood(perSecond: number, ms: number): Promise<{ readonly refused: number; readonly taken: number }> {
      const started = performance.now();
      const under: Promise<void>[] = [];
      let taken = 0;
      for (let sent = 0; performance.now() - started < ms; sent++) {
        const body = sent % LARGE_EACH === 0 ? large : usual;
        under.push(
          post(body, { prefer: 'respond-async' }).then((status) => {
            if (status === 200) taken++;
          }),
        );
        await pause(Math.max(0, started + (sent * 1_000) / perSecond - performance.now()));
      }
      await Promise.all(under);
      return { refused: under.length - taken, taken };
    },
    close: () => agent.destroy(),
  };
}
