/** Ports for servers that are told theirs: below those that Linux gives to outgoing connections, so that one which is free stays free. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** From ip(7), `ip_local_port_range`: outgoing connections begin at 32768. */
const [FIRST, END] = [10_000, 32_000];
/** Test files that run beside each other look in separate places. */
const SHARE = 3_500;
const [worker, lane] = [Number(process.env['VITEST_POOL_ID'] ?? 0), Number(process.env['TEST_LANE'] ?? 0)];
/** Two workers in each of two lanes, and one in a third (scripts/test.ts). */
const place = (worker + 2 * lane) % Math.floor((END - FIRST) / SHARE);
let next = FIRST + place * SHARE + Math.floor((Math.random() * SHARE) / 2);

/** @returns free ports of 127.0.0.1; none that this process was given before @throws where there are no more */
export async function freePorts(count: number): Promise<number[]> {
  const found: number[] = [];
  for (; found.length < count; next++) {
    if (next >= END) throw new Error(`no port below ${END} is free`);
    if (await isFree(next)) found.push(next);
  }
  return found;
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
