/** How the connections of a server end: answers under way are finished, up to a limit, and nothing else delays the end. */
import { once } from 'node:events';
import { Agent, createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { drainable } from '../../../src/roles/process/drain.ts';

const LONG_MS = 20_000;
/** Longer than what is not worth waiting for may take, ms. */
const SOON_MS = 800;

let server: ReturnType<typeof createServer>;
let drain: (limitMs: number) => void;
let port: number;
let responses: ServerResponse[];
const agent = new Agent({ keepAlive: true });

beforeEach(async () => {
  responses = [];
  server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    responses.push(response);
    response.setHeader('content-type', request.url === '/events' ? 'text/event-stream' : 'text/plain').write('begun');
  });
  drain = drainable(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterEach(() => {
  server.closeAllConnections();
  agent.destroy();
});

/** An answer that has begun, over a connection that is kept. */
async function begun(path: string): Promise<{ readonly text: Promise<string>; readonly response: ServerResponse }> {
  const [message] = (await once(get({ port, path, agent }), 'response')) as [IncomingMessage];
  const text = message.setEncoding('utf8').reduce((all: string, part: string) => all + part, '');
  // Whether it is cut off is known when it is awaited.
  text.catch(() => {});
  return { text, response: responses.at(-1) as ServerResponse };
}
async function dialled(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  return socket;
}
/** @returns how long it takes until all connections are closed, ms */
function closing(limitMs: number): Promise<number> {
  const began = performance.now();
  drain(limitMs);
  return new Promise((resolve) => server.close(() => resolve(performance.now() - began)));
}

it('an answer under way is finished, and its connection is not kept then', async () => {
  const { text, response } = await begun('/file');
  const closed = closing(LONG_MS);
  await pause(SOON_MS);
  response.end(' and done');
  expect(await text).toBe('begun and done');
  expect(await closed).toBeLessThan(LONG_MS / 4);
});

it('an answer that takes longer than the limit is cut off', async () => {
  const { text } = await begun('/file');
  expect(await closing(200)).toBeLessThan(LONG_MS / 4);
  await expect(text).rejects.toThrow('aborted');
});

it('neither events nor a request that is not whole delay the end', async () => {
  const { text } = await begun('/events');
  const silent = await dialled();
  (await dialled()).write('GET / HTTP/1.1\r\nHost: ');
  expect(await closing(LONG_MS)).toBeLessThan(LONG_MS / 4);
  await expect(text).rejects.toThrow('aborted');
  silent.destroy();
});
