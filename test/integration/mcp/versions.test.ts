/** What each version of the protocol is answered with, request by request: one table over HTTP. */
import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asVersion, post, type RpcAnswer, send, VERSIONS, type Version } from '../../kit/api/assistant.ts';
import { raw } from '../../kit/api/wire.ts';
import { type Service, startService } from '../../kit/roles/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ api: { mcp: { maxRequestBytes: 100_000, origins: ['assistant.example'] } } });
});
afterAll(() => service?.stop());

const older = VERSIONS.slice(0, 3);
const newer = VERSIONS.slice(3);
const rpc = (method: string, params?: object, id: unknown = 7) => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params === undefined ? {} : { params }),
});
const failure = (status: number, code: number, id: unknown = 7): Partial<RpcAnswer> & object =>
  ({ status, body: { jsonrpc: '2.0', id, error: { code, message: expect.any(String) } } }) as never;
/** What is refused before the protocol: our error in the protocol's. */
const refused = (status: number, code: string) => ({
  status,
  body: { id: null, error: { code: status, data: { code, details: { request_id: expect.any(String) } } } },
});

interface Row {
  readonly in: readonly Version[];
  readonly ask: (version: Version) => Promise<RpcAnswer>;
  readonly answer: object;
}

const initialize = (version: string) =>
  rpc('initialize', { protocolVersion: version, capabilities: {}, clientInfo: { name: 't', version: '1' } });
const text =
  (body: string, headers: Record<string, string> = {}) =>
  (version: Version) =>
    post(service.url, body, { ...asVersion(version, rpc('ping')).headers, ...headers });
const list = (headers: Record<string, string>) => (version: Version) => send(service.url, version, rpc('tools/list'), headers);

const TABLE: Readonly<Record<string, Row>> = {
  'initialize in a version that is spoken': {
    in: older,
    ask: (version) => post(service.url, initialize(version)),
    answer: {
      status: 200,
      body: {
        id: 7,
        result: {
          serverInfo: { name: 'filemill' },
          capabilities: { tools: {}, prompts: {}, resources: {} },
          instructions: expect.stringContaining('/api/v1/uploads'),
        },
      },
    },
  },
  'initialize in a version that is not': {
    in: ['2025-11-25'],
    ask: () => post(service.url, initialize('1999-01-01')),
    answer: { status: 200, body: { result: { protocolVersion: '2025-11-25' } } },
  },
  'initialize, which is gone': {
    in: newer,
    ask: (version) => send(service.url, version, initialize(version)),
    answer: failure(404, -32_601),
  },
  'server/discover': {
    in: newer,
    ask: (version) => send(service.url, version, rpc('server/discover')),
    answer: {
      status: 200,
      body: {
        result: {
          resultType: 'complete',
          supportedVersions: ['2026-07-28'],
          ttlMs: 300_000,
          cacheScope: 'public',
          instructions: expect.any(String),
        },
      },
    },
  },
  'server/discover, which is not there yet': {
    in: older,
    ask: (version) => send(service.url, version, rpc('server/discover')),
    answer: failure(200, -32_601),
  },
  ping: { in: older, ask: (version) => send(service.url, version, rpc('ping')), answer: { status: 200, body: { id: 7, result: {} } } },
  'ping, which is gone': { in: newer, ask: (version) => send(service.url, version, rpc('ping')), answer: failure(404, -32_601) },
  'tools/list': { in: older, ask: list({}), answer: { status: 200, body: { id: 7, result: { tools: expect.any(Array) } }, events: [] } },
  'tools/list with what the newest adds': {
    in: newer,
    ask: list({}),
    answer: { status: 200, body: { result: { tools: expect.any(Array), resultType: 'complete', ttlMs: 300_000, cacheScope: 'public' } } },
  },
  'prompts/list': {
    in: VERSIONS,
    ask: (version) => send(service.url, version, rpc('prompts/list')),
    answer: { status: 200, body: { result: { prompts: expect.arrayContaining([expect.objectContaining({ name: 'convert' })]) } } },
  },
  'prompts/get of one that is not listed': {
    in: VERSIONS,
    ask: (version) => send(service.url, version, rpc('prompts/get', { name: 'constructor' })),
    answer: failure(200, -32_602),
  },
  'resources/templates/list': {
    in: VERSIONS,
    ask: (version) => send(service.url, version, rpc('resources/templates/list')),
    answer: { status: 200, body: { result: { resourceTemplates: [{ uriTemplate: expect.stringContaining('/jobs/{job_id}/output') }] } } },
  },
  'tools/list with an unknown cursor': {
    in: VERSIONS,
    ask: (version) => send(service.url, version, rpc('tools/list', { cursor: 'x' })),
    answer: failure(200, -32_602),
  },
  'a notification': {
    in: VERSIONS,
    ask: (version) => send(service.url, version, { jsonrpc: '2.0', method: 'notifications/initialized' }),
    answer: { status: 202, body: undefined },
  },
  'an answer to nothing': {
    in: older,
    ask: (version) => send(service.url, version, { jsonrpc: '2.0', id: 1, result: {} }),
    answer: { status: 202, body: undefined },
  },
  'Accept: */*': { in: VERSIONS, ask: list({ accept: '*/*' }), answer: { status: 200, body: { id: 7 } } },
  'Accept: application/json': {
    in: VERSIONS,
    ask: list({ accept: 'application/json' }),
    answer: { status: 200, body: { id: 7 }, events: [] },
  },
  'Accept: text/event-stream': { in: older, ask: list({ accept: 'text/event-stream' }), answer: { status: 200, events: [{ id: 7 }] } },
  'Accept: text/html': { in: VERSIONS, ask: list({ accept: 'text/html' }), answer: refused(406, 'NOT_ACCEPTABLE') },
  'an unknown method': { in: older, ask: (version) => send(service.url, version, rpc('tools/paint')), answer: failure(200, -32_601) },
  'an unknown method in the newest': {
    in: newer,
    ask: (version) => send(service.url, version, rpc('tools/paint')),
    answer: failure(404, -32_601),
  },
  'an unknown tool': {
    in: VERSIONS,
    ask: (version) => send(service.url, version, rpc('tools/call', { name: 'paint_file', arguments: {} })),
    answer: failure(200, -32_602),
  },
  'a call without a name': {
    in: older,
    ask: (version) => send(service.url, version, rpc('tools/call', {})),
    answer: failure(200, -32_602),
  },
  'arguments that are a list': {
    in: older,
    ask: (version) => send(service.url, version, rpc('tools/call', { name: 'convert_file', arguments: [] })),
    answer: failure(200, -32_602),
  },
  'malformed JSON': { in: VERSIONS, ask: text('{"jsonrpc":'), answer: failure(400, -32_700, null) },
  'nothing at all': { in: VERSIONS, ask: text(''), answer: failure(400, -32_700, null) },
  'JSON that is no text in UTF-8': {
    in: ['2025-11-25'],
    ask: () => post(service.url, Buffer.from('{"a":"\xff"}', 'latin1')),
    answer: failure(400, -32_700, null),
  },
  'JSON that is no message': { in: VERSIONS, ask: text('{"hello":"world"}'), answer: failure(400, -32_600, null) },
  'a number': { in: VERSIONS, ask: text('17'), answer: failure(400, -32_600, null) },
  'JSON 20,000 levels deep': {
    in: ['2025-11-25'],
    ask: text(`${'['.repeat(20_000)}${']'.repeat(20_000)}`),
    answer: failure(400, -32_600, null),
  },
  'a batch where there are batches': {
    in: ['2025-03-26'],
    ask: text(JSON.stringify([rpc('ping', {}, 1), { jsonrpc: '2.0', method: 'notifications/initialized' }, rpc('tools/paint', {}, 'two')])),
    answer: {
      status: 200,
      body: [
        { id: 1, result: {} },
        { id: 'two', error: { code: -32_601 } },
      ],
    },
  },
  'a batch with initialize in it': {
    in: ['2025-03-26'],
    ask: text(JSON.stringify([initialize('2025-03-26')])),
    answer: failure(400, -32_600, null),
  },
  'an empty batch': { in: VERSIONS, ask: text('[]'), answer: failure(400, -32_600, null) },
  'a batch where there are none': {
    in: ['2025-06-18', '2025-11-25', '2026-07-28'],
    ask: text(JSON.stringify([rpc('ping')])),
    answer: failure(400, -32_600, null),
  },
  'another content type': { in: VERSIONS, ask: text('{}', { 'content-type': 'text/plain' }), answer: refused(415, 'UNSUPPORTED_MIME') },
  'more bytes than a request may have': { in: VERSIONS, ask: text(`"${'a'.repeat(100_000)}"`), answer: refused(413, 'FILE_TOO_LARGE') },
  'an unsupported version': {
    in: ['2025-11-25'],
    ask: () => post(service.url, rpc('tools/list'), { 'mcp-protocol-version': '1999-01-01' }),
    answer: { status: 400, body: { error: { message: expect.stringContaining('1999-01-01') } } },
  },
  'a header that says another method': { in: newer, ask: list({ 'mcp-method': 'tools/call' }), answer: failure(400, -32_020) },
  'no header that says the method': {
    in: newer,
    ask: (version) => post(service.url, asVersion(version, rpc('tools/list')).message, { 'mcp-protocol-version': version }),
    answer: failure(400, -32_020),
  },
  'a page that is not wanted': { in: VERSIONS, ask: list({ origin: 'https://evil.example' }), answer: refused(403, 'FORBIDDEN') },
  'a page that is': { in: VERSIONS, ask: list({ origin: 'https://assistant.example' }), answer: { status: 200 } },
};

describe.each(Object.entries(TABLE))('%s', (_, row) => {
  it.each(row.in)('is answered as %s says', async (version) => expect(await row.ask(version)).toMatchObject(row.answer));
});

describe('beside POST', () => {
  it.each(['GET', 'DELETE', 'PUT', 'PATCH'])('%s is not taken, and what is stands in Allow', async (method) => {
    const response = await fetch(`${service.url}/mcp`, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: 405, data: { code: 'METHOD_NOT_ALLOWED' } } });
  });

  it('a preflight lists the headers of the protocol, and exposes ours', async () => {
    const response = await fetch(`${service.url}/mcp`, {
      method: 'OPTIONS',
      headers: { origin: 'https://assistant.example', 'access-control-request-method': 'POST' },
    });
    expect(response.status).toBe(204);
    const allowed = response.headers.get('access-control-allow-headers')?.toLowerCase().split(', ');
    expect(allowed).toEqual(
      expect.arrayContaining(['content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id', 'last-event-id']),
    );
    expect(response.headers.get('access-control-expose-headers')).toContain('X-RateLimit-Remaining');
  });

  it('a foreign host name that resolves to this server is not answered (DNS rebinding)', async () => {
    const head = (host: string) => `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
    for (const host of ['rebound.example', 'rebound.example:80', 'localhost.rebound.example', '127.0.0.1.rebound.example'])
      expect((await raw(service.url, head(host))).status, host).toBe(403);
    // Each is known, and told what is wrong with its message.
    for (const host of ['localhost', 'LOCALHOST:9', '127.0.0.1', '[::1]:80', 'mill.localhost', `${hostname()}:8080`])
      expect((await raw(service.url, head(host))).status, host).toBe(400);
  });

  it('a body that says it is too large is refused before it is sent', async () => {
    const head =
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 100001\r\n\r\n';
    const answer = await raw(service.url, head);
    expect([answer.status, answer.text.includes('100 Continue')]).toEqual([413, false]);
    expect(JSON.parse(answer.body)).toMatchObject({
      error: { code: 413, data: { details: { max_bytes: 100_000, received_bytes: 100_001 } } },
    });
  });
});

describe('the server card', () => {
  it.each(['/.well-known/mcp/server-card.json', '/.well-known/mcp/server-card', '/mcp/server-card'])(
    'at %s names the address and the versions',
    async (path) => {
      expect(await (await fetch(`${service.url}${path}`)).json()).toMatchObject({
        remotes: [{ type: 'streamable-http', url: `${service.url}/mcp`, supportedProtocolVersions: expect.arrayContaining([...VERSIONS]) }],
      });
    },
  );
});
