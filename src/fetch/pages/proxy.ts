/** The proxy through which web pages reach the Internet: on loopback, open only while a page is rendered, and only to checked addresses. */
import { once } from 'node:events';
import { request as ask, createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { watchCrumbs } from '../../streams/crumbs.ts';
import type { Connector } from '../connector.ts';
import { boundInterim } from '../download/exchange.ts';
import type { FetchSettings } from '../settings.ts';
import { judgePage } from './page.ts';
import { PageTunnel, type PageTunnelLimits } from './tunnel.ts';

export interface EgressProxy {
  /** TCP, on 127.0.0.1. */
  readonly port: number;
  /** Opens the proxy for one page; closes the tunnel of the page before. */
  open(): PageTunnel;
  close(): Promise<void>;
}

/** A page with a hundred pictures receives about a hundred megabytes, a film more; what a page sends to be shown are small requests. */
const MOST: PageTunnelLimits = { receivedBytes: 200 * 2 ** 20, sentBytes: 16 * 2 ** 20, exchanges: 3_000 };
/** Chromium opens 32 connections to one proxy. */
const MOST_CONNECTIONS = 128;
/** Hop-by-hop headers (RFC 9110, 7.6.1; old browsers sent `Proxy-Connection`). */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'proxy-authenticate',
  'te',
  'trailer',
  'upgrade',
];

export async function openEgressProxy(connector: Connector, settings: FetchSettings): Promise<EgressProxy> {
  let tunnel: PageTunnel | undefined;
  const clients = new Set<Socket>();
  const server = createServer({ maxHeaderSize: 65_536, keepAliveTimeout: 5_000 });
  server.maxConnections = MOST_CONNECTIONS;
  server.on('connection', (client) => {
    clients.add(client);
    client.on('error', () => client.destroy()).once('close', () => clients.delete(client));
  });
  server.on('request', (request, response) => {
    // A browser that still sends a body reads no answer.
    const { socket } = request;
    const refuse = () => (response.headersSent || !request.complete ? socket.destroy() : response.writeHead(502).end());
    forward(tunnel, request, response).catch(refuse);
  });
  server.on('connect', (request: IncomingMessage, client: Socket, head: Buffer) => {
    connectTunnel(tunnel, request, client, head).catch(() => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
  });
  server.on('upgrade', (_request, client: Socket) => client.destroy());
  server.on('clientError', (_error, client) => client.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const shut = () => {
    tunnel?.close();
    tunnel = undefined;
    for (const client of clients) client.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    open() {
      shut();
      const opened = new PageTunnel((url, signal) => connector.connect(judgePage(url, settings), signal), MOST);
      tunnel = opened;
      return opened;
    },
    async close() {
      shut();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

/** Serves CONNECT, for HTTPS and WebSockets (RFC 9110, 9.3.6). The relayed bytes are not inspected. */
async function connectTunnel(tunnel: PageTunnel | undefined, { url = '' }: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
  if (tunnel === undefined) throw new Error('no page is being rendered');
  const upstream = await tunnel.connect(`https://${url}`);
  client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  tunnel.countSent(head.length);
  upstream.write(head);
  await Promise.all([pipeline(client, tunnel.meterSent(), upstream), pipeline(upstream, tunnel.meterReceived(), client)]).catch(() => {
    for (const socket of [client, upstream]) socket.destroy();
  });
}

async function forward(tunnel: PageTunnel | undefined, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = URL.parse(request.url ?? '');
  if (tunnel === undefined || url?.protocol !== 'http:') throw new Error('no page is being rendered, or the request is not for http');
  const upstream = await tunnel.connect(url.href);
  tunnel.countSent(url.href.length + request.rawHeaders.reduce((sum, text) => sum + text.length, 0));
  const sent = ask({
    createConnection: () => upstream,
    method: request.method,
    path: `${url.pathname}${url.search}`,
    headers: { ...endToEnd(request.headers), host: url.host, connection: 'close' },
    maxHeaderSize: 65_536,
  });
  // `once` and `pipeline` report errors. A later one without a listener would end the process.
  sent.on('error', () => {});
  boundInterim(sent);
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
  const [[answer]] = await Promise.all([answered, pipeline(request, tunnel.meterSent(), sent)]);
  watchCrumbs(answer, () => answer.destroy(new Error('the server sends too many small chunks')));
  response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
  await pipeline(answer, joined, tunnel.meterReceived(), response);
}

/** Lets chunks accumulate while the reader is busy, so that a server of single bytes does not cost us a write for each. */
async function* joined(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* pieces;
}

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  const dropped = new Set([...HOP_BY_HOP, ...named, 'transfer-encoding']);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)));
}
