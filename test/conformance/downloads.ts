/** What every guarded download must hold to, whichever way it takes: 127.0.0.1 stands for the public Internet, 127.0.0.2 for what is private. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as later } from 'node:timers/promises';
import { createServer as createSecureServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import type { Connector } from '../../src/fetch/connector.ts';
import type { DirectConnectorDeps } from '../../src/fetch/direct-connector.ts';
import { type Download, guardedFetch } from '../../src/fetch/download/download.ts';
import { type FetchSettings, fetchSettings } from '../../src/fetch/settings.ts';
import { MIN_PIECE_BYTES } from '../../src/streams/coalesce.ts';

const PUBLIC = '127.0.0.1';
const PRIVATE = '127.0.0.2';
const FILE = 'the file';
const OK = `HTTP/1.1 200 OK\r\nContent-Length: ${FILE.length}\r\n\r\n${FILE}`;
/** Short enough to wait for, in tests of just this limit. */
const SOON_MS = 150;

interface Identity {
  readonly key: string;
  readonly cert: string;
}

/** `openssl ca`, because only it sets both dates in every version. */
const AUTHORITY = `[ca]
default_ca = own
[own]
database = index
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
`;

/** A certificate that vouches for itself. @param years first and last of its validity */
function identity(names: string, [from, until] = ['2020', '2049']): Identity {
  const cwd = mkdtempSync(join(tmpdir(), 'filemill-fetch-'));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd, stdio: 'pipe' });
  try {
    writeFileSync(join(cwd, 'config'), AUTHORITY);
    writeFileSync(join(cwd, 'index'), '');
    writeFileSync(join(cwd, 'serial'), randomBytes(8).toString('hex'));
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'key'];
    openssl('req', '-new', ...curve, '-subj', '/CN=filemill test', '-addext', `subjectAltName=${names}`, '-out', 'request');
    const dates = ['-startdate', `${from}0101000000Z`, '-enddate', `${until}0101000000Z`];
    openssl(
      'ca',
      '-batch',
      '-config',
      'config',
      '-selfsign',
      '-keyfile',
      'key',
      '-in',
      'request',
      '-rand_serial',
      ...dates,
      '-notext',
      '-out',
      'cert',
    );
    return { key: readFileSync(join(cwd, 'key'), 'utf8'), cert: readFileSync(join(cwd, 'cert'), 'utf8') };
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

const GOOD = identity(`DNS:files.example,IP:${PUBLIC}`);

interface Upstream {
  readonly port: number;
  /** Requests as they came, headers included. */
  readonly heads: string[];
  connections: number;
}

/** What a server does with a whole request; text is sent and the connection ended. */
type Answer = string | ((socket: Socket, head: string) => void);

export interface OpenWay {
  readonly way: Connector;
  /** Resolves when every connection has ended by itself. */
  close(): Promise<void>;
}

export function downloadSuite(
  name: string,
  openWay: (settings: FetchSettings, surroundings: DirectConnectorDeps) => Promise<OpenWay>,
): void {
  describe(`a download ${name}`, () => {
    const servers: Server[] = [];

    async function serve(
      answer: Answer,
      { on = PUBLIC, as, port = 0 }: { on?: string; as?: Identity; port?: number } = {},
    ): Promise<Upstream> {
      const heads: string[] = [];
      const talk = (socket: Socket) => {
        let head = '';
        socket.on('error', () => undefined);
        socket.on('data', (chunk: Buffer) => {
          head += chunk.toString('latin1');
          if (!head.endsWith('\r\n\r\n')) return;
          heads.push(head);
          if (typeof answer === 'string') socket.end(answer, 'latin1');
          else answer(socket, head);
          head = '';
        });
      };
      const server = as === undefined ? createServer(talk) : createSecureServer({ key: as.key, cert: as.cert }, talk);
      const upstream: Upstream = { port: 0, heads, connections: 0 };
      server.on('connection', () => {
        upstream.connections++;
      });
      server.on('tlsClientError', () => undefined);
      servers.push(server);
      server.listen(port, on);
      await once(server, 'listening');
      return Object.assign(upstream, { port: (server.address() as AddressInfo).port });
    }

    const ways: OpenWay[] = [];

    async function wayOf(settings: FetchSettings, surroundings: DirectConnectorDeps): Promise<Connector> {
      const opened = await openWay(settings, surroundings);
      ways.push(opened);
      return opened.way;
    }

    /** Servers end when their connections have: one that a download left open would hang here. */
    afterEach(async () => {
      await Promise.all(ways.splice(0).map((each) => each.close()));
      await Promise.all(servers.splice(0).map((server) => new Promise((closed) => server.close(closed))));
    });

    /** Writes again and again until the connection ends. */
    function drip(socket: Socket, text: string, everyMs = 5): void {
      const timer = setInterval(() => socket.write(text), everyMs);
      socket.on('close', () => clearInterval(timer));
    }

    /** Writes `first`, then `chunk` as fast as it is taken until the connection ends. */
    function pour(socket: Socket, first: string, chunk: string): void {
      const more = () => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on('drain', more).write(first);
      more();
    }

    interface Scene extends Partial<Omit<FetchSettings, 'ports'>> {
      readonly from: readonly Upstream[];
      /** Answers of the resolver, one after the other; the last one stays. Names that are not here do not exist. */
      readonly names?: Readonly<Record<string, readonly (readonly string[])[]>>;
      readonly maxBytes?: number;
      readonly signal?: AbortSignal;
      readonly trusted?: readonly Identity[];
      readonly passes?: readonly string[];
      readonly asked?: string[];
    }

    async function open(url: string, scene: Scene): Promise<Download> {
      const { from, names = {}, maxBytes = 1_000_000, signal, trusted = [GOOD], passes = [PUBLIC], asked = [], ...settings } = scene;
      const known: Scene['names'] = { 'files.example': [[PUBLIC]], 'inside.example': [[PRIVATE]], ...names };
      const resolve = async (name: string) => {
        const answers = known[name];
        if (answers === undefined) throw new Error('ENOTFOUND');
        const times = asked.filter((before) => before === name).length;
        asked.push(name);
        return answers[Math.min(times, answers.length - 1)] ?? [];
      };
      const rules = fetchSettings.parse({ http: true, ports: from.map(({ port }) => port), ...settings });
      const way = await wayOf(rules, { resolve, judge: (address) => passes.includes(address) });
      const fetch = guardedFetch(
        rules,
        way,
        trusted.map(({ cert }) => cert),
      );
      return fetch(url, maxBytes, signal ?? new AbortController().signal);
    }

    async function read(url: string, scene: Scene): Promise<string> {
      const { body } = await open(url, scene);
      return (await buffer(body)).toString('latin1');
    }

    /** The reason of a refusal, or the code of another failure, whether before the body or in it. */
    async function refusal(url: string, scene: Scene): Promise<{ reason: unknown; failure: Failure }> {
      const error: unknown = await read(url, scene).then(
        (content) => new Error(`it was fetched: ${content.slice(0, 100)}`),
        (thrown: unknown) => thrown,
      );
      if (!(error instanceof Failure)) throw error;
      return { reason: error.details['reason'] ?? error.code, failure: error };
    }

    const at = ({ port }: Upstream, path = '/', host = 'files.example', scheme = 'http') => `${scheme}://${host}:${port}${path}`;
    const to = (location: string, status = 302) => `HTTP/1.1 ${status} Moved\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`;

    describe('a download', () => {
      it('brings a file over TLS with its name, type and length', async () => {
        const lines = [
          'HTTP/1.1 200 OK',
          'Content-Type: Application/PDF; version=2',
          'Content-Length: 8',
          'Content-Disposition: attachment; filename="a b.pdf"',
        ];
        const server = await serve(`${lines.join('\r\n')}\r\n\r\n${FILE}`, { as: GOOD });
        const { body, ...about } = await open(at(server, '/x?y=1#z', 'files.example', 'https'), { from: [server], http: false });
        expect(about).toEqual({ name: 'a b.pdf', contentType: 'application/pdf', declaredBytes: 8 });
        expect((await buffer(body)).toString()).toBe(FILE);
      });

      it('asks for the plain file and tells nothing of its client', async () => {
        const server = await serve(OK);
        await read(at(server, '/x?y=1#z', 'FILES.example.'), { from: [server] });
        const lines = server.heads[0]?.trim().split('\r\n') ?? [];
        expect(lines.shift()).toBe('GET /x?y=1 HTTP/1.1');
        expect(lines.sort()).toEqual(
          [
            'accept-encoding: identity',
            'accept: */*',
            'connection: close',
            `host: files.example:${server.port}`,
            'user-agent: filemill',
          ].sort(),
        );
      });

      it('reaches an address without asking for its name', async () => {
        const server = await serve(OK, { as: GOOD });
        const asked: string[] = [];
        expect(await read(at(server, '/', PUBLIC, 'https'), { from: [server], asked })).toBe(FILE);
        expect(await read(at(server, '/', '[::ffff:7f00:1]', 'https'), { from: [server], asked })).toBe(FILE);
        expect(asked).toEqual([]);
      });

      it('tries the next address where the first takes no connection', async () => {
        const server = await serve(OK);
        const scene = { from: [server], names: { 'files.example': [['127.0.0.3', PUBLIC]] }, passes: ['127.0.0.3', PUBLIC] };
        expect(await read(at(server), scene)).toBe(FILE);
      });

      it.each([
        ['in chunks', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nthe\r\n5\r\n file\r\n0\r\n\r\n`],
        ['by HTTP/1.0 without a length', `HTTP/1.0 200 OK\r\n\r\n${FILE}`],
        ['by HTTP/1.1 without a length', `HTTP/1.1 200 OK\r\n\r\n${FILE}`],
        ['after a word in advance', `HTTP/1.1 103 Early Hints\r\n\r\n${OK}`],
        ['up to its declared length and no further', `${OK} and more`],
        ['in no coding by name', `HTTP/1.1 200 OK\r\nContent-Encoding: Identity\r\nContent-Length: 8\r\n\r\n${FILE}`],
      ])('takes a file that comes %s', async (_how, answer) => {
        const server = await serve(answer);
        expect(await read(at(server), { from: [server] })).toBe(FILE);
      });

      it('closes the connection when its reader goes', async () => {
        const server = await serve((socket) => pour(socket, 'HTTP/1.1 200 OK\r\n\r\n', 'x'.repeat(10_000)));
        const { body } = await open(at(server), { from: [server], maxBytes: 1e9 });
        await once(body, 'readable');
        body.destroy();
        await once(body, 'close');
      });
    });

    describe('an address', () => {
      it.each([
        ['is private', [PRIVATE]],
        ['is private beside a public one', [PUBLIC, PRIVATE]],
        ['is private before a public one', [PRIVATE, PUBLIC]],
        ['is private in IPv6', ['::1']],
        ['is none', ['files.example']],
      ])('that %s refuses the name, and no connection is opened', async (_what, addresses) => {
        const server = await serve(OK);
        const canary = await serve(OK, { on: PRIVATE, port: server.port });
        const { reason, failure } = await refusal(at(server), { from: [server], names: { 'files.example': [addresses] } });
        expect(reason).toBe('address');
        expect(JSON.stringify([failure.message, failure.details])).not.toMatch(/127\.0|::1/);
        expect([server.connections, canary.connections]).toEqual([0, 0]);
      });

      it.each(['127.0.0.2', '2130706434', '0x7f.2', '0177.0.0.02', '[::ffff:127.0.0.2]', '[::7f00:2]', '127.0.0.2.'])(
        'is judged without a name: %s',
        async (host) => {
          const canary = await serve(OK, { on: PRIVATE });
          expect((await refusal(at(canary, '/', host), { from: [canary] })).reason).toBe('address');
          expect(canary.connections).toBe(0);
        },
      );

      it('is asked for once, so that a second answer cannot lead elsewhere', async () => {
        const server = await serve(OK);
        const canary = await serve(OK, { on: PRIVATE, port: server.port });
        const asked: string[] = [];
        const scene = { from: [server], names: { 'files.example': [[PUBLIC], [PRIVATE]] }, asked };
        expect(await read(at(server), scene)).toBe(FILE);
        expect([asked, server.connections, canary.connections]).toEqual([['files.example'], 1, 0]);
      });

      it('that the system replaces by its own is left before a byte is sent', async () => {
        const server = await serve(OK);
        // Linux connects 0.0.0.0 to this machine.
        const scene = { from: [server], names: { 'files.example': [['0.0.0.0']] }, passes: ['0.0.0.0'] };
        expect((await refusal(at(server), scene)).reason).toBe('address');
        expect(server.heads).toEqual([]);
      });

      it.each([
        ['has no address', { 'files.example': [[]] }, 'files.example'],
        ['does not exist', {}, 'nowhere.example'],
      ])('is missing where the name %s', async (_what, names, host) => {
        const server = await serve(OK);
        expect((await refusal(at(server, '/', host), { from: [server], names })).reason).toBe('dns');
      });
    });

    describe('a redirect', () => {
      it.each([301, 302, 303, 307, 308])('with status %i is followed, and the file has the name of where it lies', async (status) => {
        const server = await serve((socket, head) => void socket.end(head.startsWith('GET /a ') ? to('b.pdf?c', status) : OK));
        const { body, name } = await open(at(server, '/a'), { from: [server] });
        expect((await buffer(body)).toString()).toBe(FILE);
        expect(name).toBe('b.pdf');
      });

      it('is followed three times, and not a fourth', async () => {
        const server = await serve((socket, head) => {
          const left = Number(/\/(\d)/.exec(head)?.[1]);
          socket.end(left === 0 ? OK : to(`/${left - 1}`));
        });
        expect(await read(at(server, '/3'), { from: [server] })).toBe(FILE);
        expect((await refusal(at(server, '/4'), { from: [server] })).reason).toBe('redirects');
        expect(server.heads).toHaveLength(8);
      });

      it('to itself ends', async () => {
        const server = await serve(to('/'));
        expect((await refusal(at(server), { from: [server] })).reason).toBe('redirects');
        expect(server.connections).toBe(4);
      });

      it.each<[string, string, (port: number, other: number) => string]>([
        ['a private name', 'address', (port) => `http://inside.example:${port}/`],
        ['a private address', 'address', (port) => `http://${PRIVATE}:${port}/`],
        ['a private address in IPv6', 'address', (port) => `//[::ffff:7f00:2]:${port}/`],
        ['a private address as a number', 'address', (port) => `//2130706434:${port}/`],
        ['the metadata of a cloud', 'address', (port) => `http://169.254.169.254:${port}/latest/meta-data/`],
        ['a file of ours', 'scheme', () => 'file:///etc/passwd'],
        ['another scheme', 'scheme', (port) => `gopher://${PRIVATE}:${port}/`],
        ['another port', 'port', (_port, other) => `http://files.example:${other}/`],
        ['an address with credentials', 'credentials', (port) => `http://user:secret@files.example:${port}/`],
        ['a name that does not exist', 'dns', (port) => `http://nowhere.example:${port}/`],
        ['nothing that is a URL', 'address', () => 'http://['],
      ])('to %s is refused', async (_where, expected, location) => {
        const other = await serve(OK);
        const server = await serve((socket) => void socket.end(to(location(server.port, other.port))));
        const canary = await serve(OK, { on: PRIVATE, port: server.port });
        expect((await refusal(at(server), { from: [server] })).reason).toBe(expected);
        expect([server.connections, canary.connections, other.connections]).toEqual([1, 0, 0]);
      });

      it('to the same name is resolved and judged again', async () => {
        const server = await serve(to('/again'));
        const canary = await serve(OK, { on: PRIVATE, port: server.port });
        const scene = { from: [server], names: { 'files.example': [[PUBLIC], [PRIVATE]] } };
        expect((await refusal(at(server), scene)).reason).toBe('address');
        expect([server.connections, canary.connections]).toEqual([1, 0]);
      });

      it('away from TLS is refused where HTTP is', async () => {
        const plain = await serve(OK);
        const server = await serve(to(at(plain)), { as: GOOD });
        const { reason } = await refusal(at(server, '/', 'files.example', 'https'), { from: [server, plain], http: false });
        expect([reason, plain.connections]).toEqual(['scheme', 0]);
      });

      it('is not waited out when its own body never ends', async () => {
        const server = await serve((socket, head) => {
          if (head.startsWith('GET /b ')) return void socket.end(OK);
          pour(socket, 'HTTP/1.1 302 Found\r\nLocation: /b\r\n\r\n', 'x'.repeat(10_000));
        });
        expect(await read(at(server), { from: [server] })).toBe(FILE);
      });
    });

    describe('a size', () => {
      const file = 'x'.repeat(1000);
      const declared = `HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n${file}`;

      it('of exactly what is allowed passes', async () => {
        const server = await serve(declared);
        expect(await read(at(server), { from: [server], maxBytes: 1000 })).toBe(file);
      });

      it('above it is refused by its declaration, before the body', async () => {
        const server = await serve((socket) => void socket.write(declared.slice(0, -1)));
        const opened = open(at(server), { from: [server], maxBytes: 999 });
        await expect(opened).rejects.toMatchObject({ code: 'FILE_TOO_LARGE', details: { max_bytes: 999, received_bytes: 1000 } });
      });

      it.each([
        ['without a length', '', 'x'.repeat(1000)],
        ['in chunks', 'Transfer-Encoding: chunked\r\n', `3e8\r\n${file}\r\n`],
      ])('without an end %s stops at what is allowed', async (_how, header, chunk) => {
        const server = await serve((socket) => pour(socket, `HTTP/1.1 200 OK\r\n${header}\r\n`, chunk));
        const { reason, failure } = await refusal(at(server), { from: [server], maxBytes: 5000 });
        expect(reason).toBe('FILE_TOO_LARGE');
        expect(failure.details['max_bytes']).toBe(5000);
        expect(failure.details['received_bytes']).toBeGreaterThan(5000);
        expect(failure.details['received_bytes']).toBeLessThan(200_000);
      });
    });

    describe('a server that keeps us waiting', () => {
      const silent: Answer = () => undefined;

      it('for its name is given up', async () => {
        const rules = fetchSettings.parse({ resolveMs: SOON_MS });
        const never = guardedFetch(rules, await wayOf(rules, { resolve: () => new Promise(() => undefined), judge: () => true }));
        await expect(never('https://files.example/', 1, new AbortController().signal)).rejects.toMatchObject({
          details: { reason: 'dns' },
        });
      });

      it.each<[string, Partial<FetchSettings>, Answer]>([
        ['for its TLS', { connectMs: SOON_MS }, silent],
        ['for its answer', { headersMs: SOON_MS }, silent],
        ['with headers that never end', { headersMs: SOON_MS, maxHeaderBytes: 262_144 }, (socket) => drip(socket.setNoDelay(), 'X')],
        ['with words in advance that never end', { headersMs: SOON_MS }, (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n')],
        ['in the middle of the file', { idleMs: SOON_MS }, (socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nthe')],
        [
          'in the middle of a chunk',
          { idleMs: SOON_MS },
          (socket) => void socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nthe'),
        ],
        [
          'with a file that comes too slowly',
          { idleMs: SOON_MS, minBytesPerSecond: 1_000_000 },
          (socket) => {
            socket.write('HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n');
            drip(socket, 'x');
          },
        ],
        [
          'with a file that drips',
          { totalMs: 4 * SOON_MS },
          (socket) => {
            socket.write('HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n');
            drip(socket, 'x');
          },
        ],
        [
          'with redirects that come slowly',
          { totalMs: SOON_MS, maxRedirects: 20 },
          (socket) => void later(SOON_MS / 4).then(() => socket.end(to('/'))),
        ],
      ])('%s is given up', async (what, limit, answer) => {
        const server = await serve(answer);
        const scheme = what.includes('TLS') ? 'https' : 'http';
        expect((await refusal(at(server, '/', 'files.example', scheme), { from: [server], ...limit })).reason).toBe('unreachable');
      });

      it.each([8, 2_000_000])('is not blamed for a reader who is slow: %i bytes', async (size) => {
        const server = await serve((socket) => void socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n${'x'.repeat(size)}`));
        const { body } = await open(at(server), { from: [server], maxBytes: size, idleMs: 2 * SOON_MS });
        await once(body, 'readable');
        await later(4 * SOON_MS);
        expect(await buffer(body)).toHaveLength(size);
      });

      it('in small chunks arrives in joined pieces, each byte counted', async () => {
        const bytes = 64_000;
        const server = await serve((socket) => {
          const chunk = `20\r\n${'x'.repeat(32)}\r\n`;
          socket.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(bytes / 32)}0\r\n\r\n`, 'latin1');
        });
        const { body } = await open(at(server), { from: [server], maxBytes: bytes });
        const pieces = (await body.toArray()) as Buffer[];
        expect(Buffer.concat(pieces).toString('latin1')).toBe('x'.repeat(bytes));
        expect(pieces.slice(0, -1).filter(({ length }) => length < MIN_PIECE_BYTES)).toEqual([]);
        const { failure } = await refusal(at(server), { from: [server], maxBytes: bytes - 1 });
        expect(failure).toMatchObject({ code: 'FILE_TOO_LARGE', details: { max_bytes: bytes - 1, received_bytes: bytes } });
      });

      it.each([
        ['in crumbs is refused, however long it would be', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\nx\r\n'],
        ['behind interim responses without end is refused', '', 'HTTP/1.1 103 Early\r\n\r\n'],
      ])('%s', async (_, first, repeated) => {
        const server = await serve((socket) => pour(socket, first, repeated.repeat(2_000)));
        expect((await refusal(at(server), { from: [server] })).reason).toBe('unreachable');
      });

      it('again and again, but never for long, is borne with', async () => {
        const server = await serve((socket) => {
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n');
          drip(socket, 'x', 20);
        });
        expect(await read(at(server), { from: [server], idleMs: 4 * SOON_MS, minBytesPerSecond: 0 })).toHaveLength(50);
      });

      it('ends nothing but its own download while no reader takes the body', async () => {
        const server = await serve((socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nthe'));
        const { body } = await open(at(server), { from: [server], idleMs: SOON_MS });
        await new Promise((closed) => body.on('close', closed));
        await expect(buffer(body)).rejects.toMatchObject({ details: { reason: 'unreachable' } });
      });
    });

    describe('an answer', () => {
      const bomb = gzipSync(Buffer.alloc(10_000_000)).toString('latin1');

      it.each<[string, Answer]>([
        ['with one huge header', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(1_000_000)}\r\n\r\n`],
        ['with endless headers', (socket) => pour(socket, 'HTTP/1.1 200 OK\r\n', `X: ${'x'.repeat(1000)}\r\n`)],
        ['with an endless status line', (socket) => pour(socket, 'HTTP/1.1 200 ', 'x'.repeat(1000))],
        ['packed by gzip', `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n${bomb}`],
        ['packed by two codings', `HTTP/1.1 200 OK\r\nContent-Encoding: identity, br\r\n\r\n${bomb}`],
        ['packed in transfer', `HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
        ['shorter than declared', `HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n${FILE}`],
        ['with two lengths', `HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Length: 3\r\n\r\n${FILE}`],
        ['with a length and chunks', `HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n${FILE}\r\n0\r\n\r\n`],
        ['with a length below nothing', `HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n${FILE}`],
        ['with chunks that are none', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n${FILE}\r\n`],
        ['with chunks that stop', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n${FILE}\r\n`],
        [
          'with an endless chunk extension',
          (socket) => pour(socket, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8;', 'x'.repeat(1000)),
        ],
        [
          'with an endless trailer',
          (socket) => pour(socket, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n', `X: ${'x'.repeat(1000)}\r\n`),
        ],
        [
          'that is reset in the middle',
          (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nthe', () => socket.resetAndDestroy()),
        ],
        [
          'that is reset in the middle of what has no length',
          (socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nthe', () => setTimeout(() => socket.resetAndDestroy(), 20)),
        ],
        ['that is reset at once', (socket) => void socket.resetAndDestroy()],
        ['that is empty', (socket) => void socket.end()],
        ['that is no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
        ['that is of HTTP/0.9', FILE],
        [
          'that changes the protocol',
          (socket) => void socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
        ],
        ['that says it moved and not where', 'HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n'],
      ])('%s is refused', async (_what, answer) => {
        const server = await serve(answer);
        expect((await refusal(at(server), { from: [server] })).reason).toBe('unreachable');
      });

      it.each([204, 206, 304, 400, 401, 403, 404, 410, 429, 500, 503])('of status %i is refused and named', async (status) => {
        const server = await serve((socket) => void socket.write(`HTTP/1.1 ${status} X\r\n\r\n`));
        const { reason, failure } = await refusal(at(server), { from: [server] });
        expect([reason, failure.details['status']]).toEqual(['unreachable', status]);
        expect(failure.message).toContain(String(status));
      });

      it('from a server that has gone is reported as unreachable', async () => {
        const server = await serve(OK);
        await new Promise((closed) => servers.pop()?.close(closed));
        expect((await refusal(at(server), { from: [server] })).reason).toBe('unreachable');
      });
    });

    describe('a certificate', () => {
      const other = identity('DNS:other.example');
      const star = identity('DNS:*.files.example');
      const stranger = identity('DNS:files.example');
      const old = identity('DNS:files.example', ['2020', '2021']);

      it.each<[string, Identity, string, readonly Identity[], string]>([
        ['that no trusted authority signed', stranger, 'files.example', [GOOD], 'DEPTH_ZERO_SELF_SIGNED_CERT'],
        ['of another name', other, 'files.example', [other], 'ERR_TLS_CERT_ALTNAME_INVALID'],
        ['of a name, shown by an address,', other, PUBLIC, [other], 'ERR_TLS_CERT_ALTNAME_INVALID'],
        ['that ran out', old, 'files.example', [old], 'CERT_HAS_EXPIRED'],
      ])('%s is refused before a byte is sent', async (_what, as, host, trusted, code) => {
        const server = await serve(OK, { as });
        const { reason, failure } = await refusal(at(server, '/', host, 'https'), { from: [server], trusted });
        expect([reason, server.heads]).toEqual(['unreachable', []]);
        expect(failure.message).toContain('certificate');
        expect(failure.cause).toMatchObject({ code });
      });

      it('for all names of a domain is good', async () => {
        const server = await serve(OK, { as: star });
        const scene = { from: [server], trusted: [star], names: { 'a.files.example': [[PUBLIC]] } };
        expect(await read(at(server, '/', 'a.files.example.', 'https'), scene)).toBe(FILE);
      });

      it('is looked at even where the environment says not to', async () => {
        const server = await serve(OK, { as: stranger });
        process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
        try {
          expect((await refusal(at(server, '/', 'files.example', 'https'), { from: [server] })).reason).toBe('unreachable');
        } finally {
          delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
        }
      });

      it('is missed where the server speaks no TLS', async () => {
        const speaker = createServer(
          (socket) =>
            void socket
              .on('error', () => undefined)
              .resume()
              .end(OK),
        );
        servers.push(speaker.listen(0, PUBLIC));
        await once(speaker, 'listening');
        const plain = { port: (speaker.address() as AddressInfo).port, heads: [], connections: 0 };
        expect((await refusal(at(plain, '/', 'files.example', 'https'), { from: [plain] })).reason).toBe('unreachable');
      });
    });

    describe('a caller who leaves', () => {
      const gone = new Error('the client went away');

      it.each<[string, Answer, 'http' | 'https']>([
        ['while TLS begins', () => undefined, 'https'],
        ['while the answer is awaited', () => undefined, 'http'],
      ])('%s gets its own reason back, and the connection is closed', async (_when, answer, scheme) => {
        const leaving = new AbortController();
        const server = await serve(answer);
        servers.at(-1)?.on('connection', () => leaving.abort(gone));
        await expect(open(at(server, '/', 'files.example', scheme), { from: [server], signal: leaving.signal })).rejects.toBe(gone);
      });

      it('while the file comes ends the body with its reason', async () => {
        const leaving = new AbortController();
        const server = await serve((socket) => {
          socket.write('HTTP/1.1 200 OK\r\n\r\n');
          drip(socket, 'x'.repeat(MIN_PIECE_BYTES));
        });
        const { body } = await open(at(server), { from: [server], signal: leaving.signal });
        body.once('data', () => leaving.abort(gone));
        await expect(buffer(body)).rejects.toBe(gone);
      });

      it('before the start has nothing fetched', async () => {
        const server = await serve(OK);
        const asked: string[] = [];
        await expect(open(at(server), { from: [server], signal: AbortSignal.abort(gone), asked })).rejects.toBe(gone);
        expect([server.connections, asked]).toEqual([0, []]);
      });

      it('while the name resolves is not kept', async () => {
        const leaving = new AbortController();
        const rules = fetchSettings.parse({});
        const resolve = () => {
          leaving.abort(gone);
          return new Promise<never>(() => undefined);
        };
        const fetch = guardedFetch(rules, await wayOf(rules, { judge: () => true, resolve }));
        await expect(fetch('https://files.example/', 1, leaving.signal)).rejects.toBe(gone);
      });
    });
  });
}
