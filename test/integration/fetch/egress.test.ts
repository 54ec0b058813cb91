/** The proxy of the role `egress`: downloads through it end as they would without it, and no client gets more from it than that. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type DirectConnectorDeps, directConnector } from '../../../src/fetch/direct-connector.ts';
import { guardedFetch } from '../../../src/fetch/download/download.ts';
import { egressConnector } from '../../../src/fetch/egress/connector.ts';
import { type Egress, type EgressOutcome, openEgress } from '../../../src/fetch/egress/egress.ts';
import { findPage } from '../../../src/fetch/pages/page.ts';
import { privateConnector } from '../../../src/fetch/private.ts';
import { egressSettings, type FetchSettings, fetchSettings } from '../../../src/fetch/settings.ts';
import { downloadSuite } from '../../conformance/downloads.ts';
import { freePort } from '../../kit/exec/ports.ts';
import { checkout, endProcess, startProcess } from '../../kit/roles/service.ts';

const TOKEN = 'a-token-that-egress-and-its-clients-share';
const OLD_TOKEN = 'a-token-that-clients-had-before-it-was-changed';
const FILEMILL = join(checkout, 'scripts/filemill');
const PUBLIC = '127.0.0.1';
const PRIVATE = '127.0.0.2';

const open = (
  fetching: FetchSettings,
  around: DirectConnectorDeps,
  own: object = {},
  onRequest: (outcome: EgressOutcome) => void = () => {},
): Promise<Egress> =>
  openEgress({
    connector: directConnector(fetching, around),
    privateConnector: privateConnector(fetching, around),
    tokens: [TOKEN, OLD_TOKEN],
    settings: { ...egressSettings.parse({ port: 0, host: PUBLIC, ...own }), ...fetching },
    onRequest,
    metrics: async () => ({ type: 'text/plain', text: 'measured 1\n' }),
  });

downloadSuite('through egress', async (settings, surroundings) => {
  const egress = await open(settings, surroundings);
  // A test ends when its connections have, whatever time they take.
  return { way: egressConnector(`http://${PUBLIC}:${egress.port}`, TOKEN, settings), close: () => egress.close(600_000) };
});

describe('egress', () => {
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  /** A server of the Internet's, and egress before it. */
  async function scene(talk: (socket: Socket) => void, own: object = {}, rules: Partial<FetchSettings> = {}) {
    const server: Server = createServer((socket) => talk(socket.on('error', () => {})));
    const sockets = new Set<Socket>();
    server.on('connection', (socket) => sockets.add(socket)).listen(0, PUBLIC);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const settings = fetchSettings.parse({ http: true, ports: [port], ...rules });
    const said: EgressOutcome[] = [];
    const resolve = async (name: string) => [name === 'inside.example' ? PRIVATE : PUBLIC];
    const egress = await open(settings, { resolve, judge: (address) => address === PUBLIC }, own, (what) => said.push(what));
    ends.push(
      () => egress.close(0),
      () => {
        for (const socket of sockets) socket.destroy();
        server.close();
      },
    );
    const url = `http://${PUBLIC}:${egress.port}`;
    const connector = egressConnector(url, TOKEN, settings);
    return { port, settings, said, sockets, egress, url, way: connector, fetch: guardedFetch(settings, connector) };
  }

  /** The first line of its answer, and what is on the connection afterwards. */
  async function tunnel(
    egressPort: number,
    authority: string,
    token: string | undefined = TOKEN,
  ): Promise<{ status: number; socket: Socket }> {
    const headers: Record<string, string> = token === undefined ? {} : { 'proxy-authorization': `Bearer ${token}` };
    const asked = request({ host: PUBLIC, port: egressPort, method: 'CONNECT', path: authority, headers }).end();
    const [{ statusCode = 0 }, socket] = (await once(asked, 'connect')) as [{ statusCode?: number }, Socket];
    socket.on('error', () => {});
    ends.push(() => socket.destroy());
    return { status: statusCode, socket };
  }
  const signal = new AbortController().signal;

  it.each([TOKEN, OLD_TOKEN])('takes each of its tokens, while one is replaced by another', async (token) => {
    const { port, egress } = await scene((socket) => socket.end('x'));
    expect((await tunnel(egress.port, `files.example:${port}`, token)).status).toBe(200);
  });

  it.each<[string, string | undefined]>([
    ['empty', ''],
    ['wrong', `${TOKEN.slice(0, -1)}E`],
    ['longer', `${TOKEN}E`],
  ])('refuses a client whose token is %s', async (_, token) => {
    const { port, egress, sockets, said, settings, url } = await scene((socket) => socket.end('x'));
    expect((await tunnel(egress.port, `files.example:${port}`, token)).status).toBe(407);
    const connector = egressConnector(url, token ?? '', settings);
    await expect(findPage(settings, connector)(`http://files.example:${port}/`, signal)).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect(sockets.size).toBe(0);
    expect(said).toEqual(['unknown client', 'unknown client']);
  });

  it.each([
    ['an address that is not public', PRIVATE, 'address'],
    ['a name that leads to one', 'inside.example', 'address'],
    ['the metadata of a cloud', '169.254.169.254', 'address'],
    ['an address in other words', '0x7f.0.0.2', 'address'],
    ['an address mapped to IPv6', '[::ffff:127.0.0.2]', 'address'],
    ['a user and a password', 'me:secret@files.example', 'credentials'],
  ])('makes no tunnel to %s, even with the token', async (_, host, reason) => {
    const { port, egress, sockets, said } = await scene((socket) => socket.end('x'));
    const { status, socket } = await tunnel(egress.port, `${host}:${port}`);
    expect([status, await text(socket)]).toEqual([403, '']);
    expect(said).toEqual([`refused: ${reason}`]);
    expect(sockets.size).toBe(0);
  });

  it('makes no tunnel to another port', async () => {
    const { egress, said, port } = await scene((socket) => socket.end('x'));
    expect((await tunnel(egress.port, `files.example:${port + 1}`)).status).toBe(403);
    expect(said).toEqual(['refused: port']);
  });

  it('takes no request that is not for a tunnel', async () => {
    const { port, url, sockets, egress } = await scene((socket) => socket.end('x'));
    const ask = async (method: string, path: string) => {
      const asked = request({ host: PUBLIC, port: egress.port, method, path, headers: { 'proxy-authorization': `Bearer ${TOKEN}` } }).end();
      const [response] = (await once(asked, 'response')) as [{ statusCode?: number; resume(): void }];
      response.resume();
      return response.statusCode;
    };
    expect(await ask('GET', `http://files.example:${port}/`)).toBe(404);
    expect(await ask('POST', `http://files.example:${port}/`)).toBe(405);
    expect(await (await fetch(`${url}/livez`)).text()).toBe('ok\n');
    expect(await (await fetch(`${url}/metrics`)).text()).toBe('measured 1\n');
    expect(sockets.size).toBe(0);
  });

  it('has its metrics on a separate port alone, where one is set', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'filemill-egress-'));
    const port = await freePort();
    const settings = { egress: { metricsPort: port, host: PUBLIC } };
    const service = await startProcess(folder, settings, { EGRESS_TOKEN: TOKEN, EGRESS_PORT: '0' }, [FILEMILL, 'egress']);
    ends.push(async () => {
      await endProcess(service);
      await rm(folder, { recursive: true, force: true });
    });
    expect((await fetch(`${service.url}/metrics`)).status).toBe(404);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    expect(await (await fetch(`http://${PUBLIC}:${port}/metrics`)).text()).toMatch(/^# HELP filemill_egress_requests_total /m);
  });

  it('judges a page without connecting', async () => {
    const { port, settings, way: connector, sockets, said } = await scene((socket) => socket.end('x'));
    const find = findPage(settings, connector);
    expect((await find(`http://files.example:${port}/a?b`, signal)).url.href).toBe(`http://files.example:${port}/a?b`);
    await expect(find(`http://inside.example:${port}/`, signal)).rejects.toMatchObject({
      code: 'URL_REFUSED',
      message: 'The host name in the URL cannot be resolved, or its address is not public.',
      details: { reason: 'address' },
    });
    expect(sockets.size).toBe(0);
    expect(said).toEqual(['judged', 'refused: address']);
  });

  it.each([
    ['more than it may carry', { maxTunnelBytes: 100_000 }, {}, 'y'.repeat(1_000_000)],
    ['longer than a download may last', {}, { totalMs: 300 }, 'y'],
  ])('breaks a tunnel off that would go on for %s', async (_, own, rules, sent) => {
    const { port, egress } = await scene((socket) => void socket.write(sent), own, rules);
    const { status, socket } = await tunnel(egress.port, `files.example:${port}`);
    expect(status).toBe(200);
    await expect(buffer(socket)).rejects.toThrow();
  });

  it('has room for as many as it is told, and room again', async () => {
    const { port, egress } = await scene((socket) => void socket.write('x'), { maxTunnels: 1 });
    const first = await tunnel(egress.port, `files.example:${port}`);
    await expect(tunnel(egress.port, `files.example:${port}`)).rejects.toThrow();
    first.socket.destroy();
    const again = async (): Promise<number> =>
      tunnel(egress.port, `files.example:${port}`).then(
        ({ status }) => status,
        () => pause(20).then(again),
      );
    expect(await again()).toBe(200);
  });

  it('keeps no place for a client that was refused and does not close', async () => {
    const { port, egress } = await scene((socket) => void socket.write('x'), { maxTunnels: 1 });
    const staying = connect({ port: egress.port, host: PUBLIC, allowHalfOpen: true }).on('error', () => {});
    ends.push(() => staying.destroy());
    staying.write(`CONNECT files.example:${port} HTTP/1.1\r\nHost: files.example\r\n\r\n`);
    staying.resume();
    await once(staying, 'end');
    expect((await tunnel(egress.port, `files.example:${port}`)).status).toBe(200);
  });

  it('lets what goes on end, takes nothing new, and breaks off what is too long', async () => {
    const { port, egress } = await scene((socket) => void socket.on('data', (said) => socket.write(said)));
    const { socket } = await tunnel(egress.port, `files.example:${port}`);
    const closed = egress.close(400);
    const [late] = await once(connect(egress.port, PUBLIC), 'error');
    expect(late).toMatchObject({ code: 'ECONNREFUSED' });
    socket.write('still there');
    expect(String((await once(socket, 'data'))[0])).toBe('still there');
    const broken = new Promise((resolve) => socket.once('close', resolve));
    await closed;
    await broken;
  });

  it('that is not there is a fault of ours, to be tried again', async () => {
    const settings = fetchSettings.parse({});
    const gone = createServer().listen(0, PUBLIC);
    await once(gone, 'listening');
    const { port } = gone.address() as AddressInfo;
    gone.close();
    await once(gone, 'close');
    const fetch = guardedFetch(settings, egressConnector(`http://${PUBLIC}:${port}`, TOKEN, settings));
    await expect(fetch('https://files.example/', 1, signal)).rejects.toMatchObject({ code: 'OVERLOADED', retryable: true });
  });

  it('that says nothing is given up', async () => {
    const silent = createServer((socket) => socket.on('error', () => {}).resume());
    silent.listen(0, PUBLIC);
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const settings = fetchSettings.parse({ resolveMs: 10, connectMs: 10 });
    const fetch = guardedFetch(settings, egressConnector(`http://${PUBLIC}:${port}`, TOKEN, settings));
    await expect(fetch('https://files.example/', 1, signal)).rejects.toMatchObject({ code: 'OVERLOADED' });
    const closed = once(silent, 'close');
    silent.close();
    await closed;
  });
});
