/** Requests without end, on every route: many in one read of a socket, and many connections. No turn of the event loop is held, and memory stays level. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LONGEST_HOLD_MS } from '../../kit/exec/event-loop.ts';
import { convert, type Service, startService } from '../../kit/roles/service.ts';
import { held } from './attack.ts';
import { type Flood, flood, memoryInUse } from './flood.ts';

const MiB = 1 << 20;
/** How long a flood is watched, ms: long enough for thousands of requests in one turn of the event loop. */
const WATCHED_MS = 150;

/** Every route with its methods, as it is registered: a new one joins by itself. */
const routes: { readonly method: string; readonly url: string }[] = [];
const note = (message: unknown) =>
  (message as { readonly fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) routes.push({ method: each, url });
  });
subscribe('fastify.initialization', note);
const slots = { image: 0, media: 0, office: 0, pdf: 0, web: 0 };
const service: Service = await startService({ worker: { slots }, api: { syncWaitMs: 0 } });
unsubscribe('fastify.initialization', note);

let jobId = '';
beforeAll(async () => {
  const { data } = await convert(service.url, { name: 'a.png', bytes: Buffer.from('iVBORw0KGgo=', 'base64') }, 'jpg');
  jobId = data?.job_id ?? '';
});
afterAll(() => service.stop());

const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
/** A request that keeps its connection open, and costs as much as an answer of this route can. */
function requestTo(method: string, url: string): string {
  const path = url.replace(':slug', 'resize-image').replace(/:[a-z]+/gi, jobId);
  const body = url === '/mcp' && method === 'POST' ? LIST : '';
  const length = ['GET', 'HEAD', 'OPTIONS'].includes(method) ? '' : `Content-Length: ${body.length}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${length}\r\n${body}`;
}

/** @returns the longest hold of the event loop, ms, and how much more memory was in use at the end, bytes */
async function watch(sent: Flood): Promise<{ readonly longestMs: number; readonly growth: number }> {
  const before = memoryInUse();
  const { result, longestMs } = await held(async () => {
    const flooding = await flood(service.url, sent);
    await pause(WATCHED_MS);
    return flooding;
  });
  const growth = memoryInUse() - before;
  await result.stop();
  return { longestMs, growth };
}

/** With the most that memory may grow, bytes: less than all requests of the flood, parsed and held. 60 connections each have an answer of some 100 KB under way. */
const LOADS: readonly (readonly [name: string, load: Omit<Flood, 'request'>, mostGrowth: number])[] = [
  ['a mebibyte in one write, never read', { connections: 1, bytes: MiB, reads: false }, 50 * MiB],
  ['64 KiB on each of 60 connections, read', { connections: 60, bytes: 64 * 1024, reads: true }, 100 * MiB],
];

describe.each([...new Map(routes.map((route) => [`${route.method} ${route.url}`, route]))])('%s', (_, { method, url }) => {
  it.each(LOADS)('%s', async (_name, load, mostGrowth) => {
    const sent = { ...load, request: requestTo(method, url) };
    let { longestMs, growth } = await watch(sent);
    // What a request costs it costs each time; the first ones compile code, and a collection of garbage comes when it comes.
    for (let again = 0; again < 2 && longestMs >= LONGEST_HOLD_MS; again++) {
      const next = await watch(sent);
      [longestMs, growth] = [Math.min(longestMs, next.longestMs), Math.max(growth, next.growth)];
    }
    expect(longestMs).toBeLessThan(LONGEST_HOLD_MS);
    expect(growth).toBeLessThan(mostGrowth);
  });
});
