/** The role `egress`, which alone reaches the Internet: a CONNECT proxy for clients that have its token, and only to checked addresses. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Failure } from '../../errors.ts';
import type { Connector } from '../connector.ts';
import { privateAuthorities } from '../private.ts';
import { refusalHeader } from '../refusal.ts';
import type { EgressSettings, FetchSettings } from '../settings.ts';
import { type ConnectTarget, judgeUrl } from '../url.ts';
import { bearer, JUDGE, PRIVATE, REFUSAL } from './connector.ts';
import { relay } from './relay.ts';

export interface Egress {
  /** TCP. */
  readonly port: number;
  /** Accepts no more tunnels, and resets those that last longer than `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** The outcome of a request, for metrics and logs. */
export type EgressOutcome = 'tunnel' | 'judged' | 'unknown client' | 'failed' | `refused: ${string}`;

export interface EgressDeps {
  readonly connector: Connector;
  /** For sources and outputs of ConversionJobs. */
  readonly privateConnector: Connector;
  readonly tokens: readonly string[];
  readonly settings: EgressSettings & Pick<FetchSettings, 'ports' | 'totalMs' | 'privateOrigins'>;
  readonly onRequest: (outcome: EgressOutcome) => void;
  /** In the Prometheus text format; undefined where another port has them. */
  readonly metrics?: (() => Promise<{ readonly type: string; readonly text: string }>) | undefined;
}

/** Requests have no body, and their headers arrive at once, ms. */
const HEADERS_MS = 10_000;

type Reply = (status: number, headers?: Readonly<Record<string, string>>) => void;

/** @throws the error of `listen` */
export async function openEgress({ connector, privateConnector, tokens, settings, onRequest, metrics }: EgressDeps): Promise<Egress> {
  const clients = new Set<Socket>();
  const timing = { headersTimeout: HEADERS_MS, requestTimeout: HEADERS_MS, connectionsCheckingInterval: HEADERS_MS / 2 };
  const server = createServer({ ...timing, maxHeaderSize: 16_384, keepAliveTimeout: 5_000 });
  server.maxConnections = settings.maxTunnels;
  server.on('connection', (client) => {
    clients.add(client);
    client.on('error', () => client.destroy()).once('close', () => clients.delete(client));
  });
  server.on('clientError', (_error, client) => client.destroy());
  server.on('upgrade', (_request, client) => client.destroy());

  const isAuthorized = authorizationCheck(tokens);
  const authorities = privateAuthorities(settings);
  const serve = async (
    request: IncomingMessage,
    where: string,
    reply: Reply,
    work: (target: ConnectTarget, gone: AbortSignal, by: Connector) => Promise<EgressOutcome>,
  ) => {
    const gone = new AbortController();
    const leave = () => gone.abort(new Error('the client went away'));
    request.socket.once('close', leave);
    try {
      if (!isAuthorized(request)) {
        onRequest('unknown client');
        return reply(407);
      }
      const isPrivate = request.headers[PRIVATE] === 'yes';
      const ports = isPrivate && authorities.has(where) ? [Number(where.replace(/^.*:/, ''))] : settings.ports;
      onRequest(await work(targetAt(where, { ports }), gone.signal, isPrivate ? privateConnector : connector));
    } catch (error) {
      const refusal = error instanceof Failure && error.code === 'URL_REFUSED' ? error : undefined;
      onRequest(refusal === undefined ? 'failed' : `refused: ${refusal.details['reason']}`);
      if (refusal === undefined) reply(502);
      else reply(403, { [REFUSAL]: refusalHeader(refusal) });
    } finally {
      request.socket.off('close', leave);
    }
  };
  server.on('connect', (request: IncomingMessage, client: Socket, head: Buffer) => {
    void serve(request, request.url ?? '', replyOn(client), async (target, gone, by) => {
      const upstream = await by.connect(target, gone);
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      relay(client, head, upstream, { bytes: settings.maxTunnelBytes, ms: settings.totalMs });
      return 'tunnel';
    });
  });
  server.on('request', (request, response) => {
    const { url = '', method } = request;
    const reply: Reply = (status, headers = {}) => void response.writeHead(status, { ...headers, connection: 'close' }).end();
    if (method !== 'GET') return reply(405, { allow: 'CONNECT, GET' });
    if (!url.startsWith(JUDGE)) return void serveHealth(url, response).catch(() => response.destroy());
    void serve(request, decode(url.slice(JUDGE.length)), reply, async (target, gone, by) => {
      await by.judge(target, gone);
      reply(204);
      return 'judged';
    });
  });

  async function serveHealth(url: string, response: ServerResponse): Promise<void> {
    if (url === '/livez' || url === '/readyz') return void response.end('ok\n');
    if (url !== '/metrics' || metrics === undefined) return void response.writeHead(404).end();
    const { type, text } = await metrics();
    response.setHeader('content-type', type).end(text);
  }

  server.listen(settings.port, settings.host);
  await once(server, 'listening');
  // An error such as too many open files is temporary.
  server.on('error', () => undefined);
  return {
    port: (server.address() as AddressInfo).port,
    async close(graceMs) {
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      const cut = setTimeout(() => {
        for (const client of clients) client.resetAndDestroy();
      }, graceMs);
      await closed;
      clearTimeout(cut);
    },
  };
}

/** The client has already checked the URL's scheme, user name and password: a CONNECT target has only a host and a port. */
function targetAt(authority: string, { ports }: Pick<FetchSettings, 'ports'>): ConnectTarget {
  return judgeUrl(`https://${authority}`, { http: false, ports });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** Compares digests, so that timing reveals neither the token nor its length. */
/** Several while one is replaced by another. */
function authorizationCheck(tokens: readonly string[]): (request: IncomingMessage) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const expected = tokens.map((token) => digest(bearer(token)));
  return ({ headers }) => {
    const given = digest(headers['proxy-authorization'] ?? '');
    return expected.some((one) => timingSafeEqual(given, one));
  };
}

/** Writes a response to a CONNECT request, for which Node provides no response object. */
const replyOn =
  (client: Socket): Reply =>
  (status, headers = {}) => {
    const lines = Object.entries({ ...headers, connection: 'close', 'content-length': '0' }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    client.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`);
    // Not `end`: a client that never closes its half would keep the connection open.
    client.destroySoon();
  };
