/** Many requests in one write: answered in order, one at a time, each in a later turn of the event loop, whatever the bytes are cut into. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { servePipelined } from '../../../src/api/http/connections/pipelining.ts';
import { newConnectionTurns } from '../../../src/api/http/connections/turns.ts';
import { connectTo, eventually } from '../../kit/api/wire.ts';

let server: Server | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server?.closeAllConnections();
  server?.close();
  if (server !== undefined) await once(server, 'close');
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(handler: Handler): Promise<string> {
  server = createServer({ requireHostHeader: false }, handler);
  servePipelined(server, newConnectionTurns(), (remote) => String(remote));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** @returns what came back so far */
function send(url: string, ...pieces: readonly (string | Buffer)[]): { readonly socket: Socket; readonly text: () => string } {
  const socket = connectTo(url);
  sockets.push(socket);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  void (async () => {
    for (const piece of pieces) {
      socket.write(piece);
      if (pieces.length > 1) await setImmediate();
    }
  })();
  return { socket, text: () => text };
}

/** Answers with method, address and the length of the body. */
const echo: Handler = async (request, response) => {
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) bytes += chunk.length;
  response.end(`<${request.method} ${request.url} ${bytes}>`);
};
const saidIn = (text: string): string[] => text.match(/<[^>]*>/g) ?? [];

const get = (path: string) => `GET ${path} HTTP/1.1\r\n\r\n`;
const post = (path: string, body: string) => `POST ${path} HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const chunked = (path: string, ...chunks: readonly string[]) =>
  `POST ${path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${[...chunks, ''].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}`;

const BLANKS = '\r\n\r\n'.repeat(500);
const MIXED: readonly (readonly [sent: string, said: string])[] = [
  [get('/1'), '<GET /1 0>'],
  [post('/2', 'a body'), '<POST /2 6>'],
  [post('/3', `${BLANKS}${get('/no')}`), `<POST /3 ${BLANKS.length + get('/no').length}>`],
  [chunked('/4', 'some', 'more'), '<POST /4 8>'],
  [chunked('/5', BLANKS, get('/no')), `<POST /5 ${BLANKS.length + get('/no').length}>`],
  [chunked('/6'), '<POST /6 0>'],
  [`\r\n\r\n${get('/7')}`, '<GET /7 0>'],
  [post('/8', ''), '<POST /8 0>'],
  [`POST /9 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nTrailer: b\r\n\r\n`, '<POST /9 1>'],
  [post('/10', 'x'.repeat(300_000)), '<POST /10 300000>'],
  [get('/11'), '<GET /11 0>'],
];
const ALL = MIXED.map(([sent]) => sent).join('');
const SAID = MIXED.map(([, said]) => said);

describe('pipelined requests', () => {
  it('are answered in order, those with bodies too', async () => {
    const { text } = send(await serve(echo), ALL);
    await eventually(() => saidIn(text()).length >= SAID.length, 'all answers');
    expect(saidIn(text())).toEqual(SAID);
  });

  it.each([1, 2, 3, 5, 7, 1_000])('are the same in writes of %d bytes', async (size) => {
    const bytes = Buffer.from(
      MIXED.slice(0, 9)
        .map(([sent]) => sent)
        .join(''),
    );
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
    const { text } = send(await serve(echo), ...pieces);
    await eventually(() => saidIn(text()).length >= 9, 'all answers');
    expect(saidIn(text())).toEqual(SAID.slice(0, 9));
  });

  it('are worked on one at a time, each in a later turn than the one before', async () => {
    let [turn, open, most] = [0, 0, 0];
    const begun: number[] = [];
    const ticking = setInterval(() => turn++, 0);
    const url = await serve((_request, response) => {
      begun.push(turn);
      most = Math.max(most, ++open);
      response.once('close', () => open--);
      setTimeout(() => response.end('<>'), 5);
    });
    const { text } = send(url, get('/').repeat(20));
    await eventually(() => saidIn(text()).length >= 20, 'all answers');
    clearInterval(ticking);
    expect(most).toBe(1);
    expect(new Set(begun).size).toBe(20);
  });

  it('wait with the sender while an answer is not read', async () => {
    let begun = 0;
    const url = await serve((_request, response) => {
      begun++;
      response.end(Buffer.alloc(20 << 20));
    });
    let accepted: Socket | undefined;
    server?.once('connection', (connection: Socket) => {
      accepted = connection;
    });
    const { socket } = send(url, get('/').repeat(100_000));
    socket.pause();
    await eventually(() => begun > 0, 'the first request');
    await pause(200);
    expect(begun).toBe(1);
    // A few reads of the network, of 64 KiB each.
    expect(accepted?.bytesRead).toBeLessThan(256 * 1024);
  });

  it('are answered after the client has closed its side', async () => {
    const url = await serve(echo);
    (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
    const { socket, text } = send(url, ALL);
    socket.end();
    await once(socket, 'close');
    expect(saidIn(text())).toEqual(SAID);
  });

  it('end with a malformed one', async () => {
    const { socket, text } = send(await serve(echo), `${get('/1')}${get('/2')}NO\r\n\r\n${get('/3')}`);
    await once(socket, 'close');
    expect(saidIn(text())).toEqual(['<GET /1 0>', '<GET /2 0>']);
    expect(text()).toContain('HTTP/1.1 400 ');
  });

  it('notice a client that goes away while one is worked on', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const url = await serve((_request, response) => void response.once('close', resolve));
    const { socket } = send(url, get('/').repeat(10));
    await pause(50);
    socket.resetAndDestroy();
    await promise;
  });
});

describe('turns', () => {
  it('go round the clients, whichever has more connections', async () => {
    let now = 0;
    const turns = newConnectionTurns(() => now);
    const order: string[] = [];
    // Each uses up a slice.
    const asWork = (name: string) => () => {
      order.push(name);
      now += 100;
    };
    for (let at = 0; at < 5; at++) turns.wait('flood', asWork('flood'));
    turns.wait('guest', asWork('guest'));
    await eventually(() => order.length === 6, 'all turns');
    expect(order.slice(0, 2)).toEqual(['flood', 'guest']);
  });

  it('end with the slice, and begin again in the next turn of the event loop', async () => {
    let now = 0;
    const turns = newConnectionTurns(() => now);
    expect(turns.isFree()).toBe(true);
    now += 5;
    expect(turns.isFree()).toBe(true);
    now += 5;
    expect(turns.isFree()).toBe(false);
    await setImmediate();
    expect(turns.isFree()).toBe(true);
    turns.wait('somebody', () => {});
    expect(turns.isFree()).toBe(false);
  });
});
