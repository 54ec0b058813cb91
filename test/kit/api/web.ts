/** A small web for a test: public servers on 127.0.0.2, and canaries on 127.0.0.1, which no request may reach. */
import { createHash } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Resolve } from '../../../src/fetch/resolve.ts';
import { freePort } from '../exec/ports.ts';

/** By path: what is sent as HTML, or how it is answered. */
export type Site = Readonly<Record<string, string | ((request: IncomingMessage, response: ServerResponse) => void)>>;

export interface Web {
  /** TCP; of the public server and of the canary, which has UDP too. */
  readonly port: number;
  readonly base: string;
  readonly resolve: Resolve;
  /** Paths that the public server was asked for, and what the canaries heard. */
  readonly asked: string[];
  readonly heard: string[];
  close(): void;
}

export async function openWeb(site: (port: number) => Site): Promise<Web> {
  const asked: string[] = [];
  const heard: string[] = [];
  let pages: Site = {};
  const server = createServer((request, response) => {
    const path = (request.url ?? '').replace(/\?.*/, '');
    asked.push(path);
    const page = pages[path];
    if (page === undefined) response.writeHead(404).end('nothing here');
    else if (typeof page === 'string') response.setHeader('content-type', 'text/html; charset=utf-8').end(page);
    else page(request, response);
  });
  server.on('upgrade', ({ headers }, socket) => {
    // RFC 6455, 4.2.2.
    const key = `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.on('error', () => {}).resume();
  });
  // The same of three sockets: one that the system chose for the first could be another's for the second.
  const port = await freePort();
  server.listen(port, '127.0.0.2');
  await once(server, 'listening');
  pages = site(port);
  const canary = createServer((request, response) => {
    heard.push(request.url ?? '');
    response.setHeader('access-control-allow-origin', '*').end('canary');
  });
  canary.on('connection', () => heard.push('a connection')).on('upgrade', (_request, socket) => socket.destroy());
  canary.listen(port, '127.0.0.1');
  await once(canary, 'listening');
  const datagrams = createSocket('udp4').on('message', () => heard.push('a datagram'));
  datagrams.bind(port, '127.0.0.1');
  await once(datagrams, 'listening');

  let rebound = 0;
  const names: Readonly<Record<string, () => string>> = {
    'page.test': () => '127.0.0.2',
    'private.test': () => '127.0.0.1',
    'metadata.test': () => '169.254.169.254',
    'rebinding.test': () => (rebound++ === 0 ? '127.0.0.2' : '127.0.0.1'),
  };
  return {
    port,
    base: `http://page.test:${port}`,
    resolve: async (name) => {
      const address = /^site-\d+\.test$/.test(name) ? '127.0.0.2' : names[name]?.();
      if (address === undefined) throw new Error(`${name} has no address`);
      return [address];
    },
    asked,
    heard,
    close() {
      for (const each of [server, canary]) each.closeAllConnections();
      for (const each of [server, canary, datagrams]) each.close();
    },
  };
}
