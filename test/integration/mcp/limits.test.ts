/** What calls of assistants cost, and how they are refused: over HTTP, with a clock that a test moves. */
import { afterEach, describe, expect, it } from 'vitest';
import { call, post, type RpcAnswer, refusalIn, send } from '../../kit/api/assistant.ts';
import { DOT } from '../../kit/catalog/bytes.ts';
import { convert, type Service, type Settings, startService } from '../../kit/roles/service.ts';

const services: Service[] = [];
let now = 0;
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop();
});
async function serve(limits: object, more: Settings = {}): Promise<Service> {
  now = Date.now();
  const service = await startService({ limits: { ...limits }, ...more }, () => now);
  services.push(service);
  return service;
}

const work = (service: Service, to_format = 'jpg', id: unknown = 5, { name, bytes } = DOT): Promise<RpcAnswer> =>
  send(service.url, '2025-11-25', {
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'convert_file', arguments: { file: bytes.toString('base64'), filename: name, to_format } },
  });
const overRest = (service: Service) => convert(service.url, DOT, 'jpg', {}, { prefer: 'respond-async' });

interface Usage {
  readonly banned: boolean;
  readonly rejections_last_hour: number;
  readonly tiers: Readonly<Record<string, { readonly used: number; readonly limit: number }>>;
}
const usage = async ({ url }: Service): Promise<Usage> => ((await (await fetch(`${url}/api/v1/limits`)).json()) as { data: Usage }).data;

describe('a call that makes work', () => {
  it('counts in the tier mcp alone, and every answer says what is left of it', async () => {
    const service = await serve({});
    const { headers } = await work(service);
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-ratelimit-limit': '1000',
      'x-ratelimit-remaining': '999',
      'x-ratelimit-reset': '86400',
      ratelimit: '"mcp";r=999;t=86400',
      'ratelimit-policy': '"mcp";q=1000;w=86400',
    });
    // No cooldown: an assistant may call again at once.
    expect((await work(service)).status).toBe(200);
    const { tiers } = await usage(service);
    expect([tiers['mcp']?.used, tiers['daily']?.used, tiers['hourly']?.used]).toEqual([2, 0, 0]);
  });

  it('is given back where nothing was done, and leaves room for others', async () => {
    const service = await serve({ concurrent: 1 });
    for (let n = 0; n < 3; n++) expect((await work(service, 'mp3')).body?.result?.isError).toBe(true);
    expect((await usage(service)).tiers['mcp']?.used).toBe(0);
    // What the library refuses never reached a tool.
    const headers = { 'mcp-protocol-version': '1999-01-01' };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'convert_file', arguments: {} } };
    for (let n = 0; n < 3; n++) expect((await post(service.url, message, headers)).status).toBe(400);
    expect((await usage(service)).tiers['mcp']?.used).toBe(0);
    expect((await work(service)).body?.result?.structuredContent?.status).toBe('done');
  });

  it('counts each file of several, and is refused where they are too many for what is left', async () => {
    const service = await serve({ mcp: 5 });
    const files = (count: number) => ({
      files: Array.from({ length: count }, () => `data:image/png;base64,${DOT.bytes.toString('base64')}`),
      to_format: 'jpg',
    });
    expect((await call(service.url, 'convert_files', files(3))).structuredContent).toMatchObject({ counts: { done: 3 } });
    expect((await usage(service)).tiers['mcp']?.used).toBe(3);
    expect(refusalIn(await call(service.url, 'convert_files', files(3)))).toMatchObject({ code: 'RATE_LIMITED', details: { tier: 'mcp' } });
    expect((await usage(service)).tiers['mcp']?.used).toBe(3);
    expect((await call(service.url, 'run_tool', { tool: 'paint', files: ['YWJj'] })).isError).toBe(true);
    expect((await call(service.url, 'list_tools')).isError).toBeUndefined();
    expect((await usage(service)).tiers['mcp']?.used).toBe(3);
  });

  it('is refused by HTTP where the day is used up: the protocol’s error has the status and ours', async () => {
    const service = await serve({ mcp: 1 });
    await work(service);
    const { status, headers, body } = await work(service, 'jpg', 'mine');
    expect([status, headers.get('retry-after')]).toEqual([429, '86400']);
    expect(body).toMatchObject({
      jsonrpc: '2.0',
      id: 'mine',
      error: {
        code: 429,
        data: { code: 'RATE_LIMITED', details: { tier: 'mcp', limit: 1, reset_seconds: 86_400, rejections_last_hour: 1, retryable: true } },
      },
    });
    // Each of several at once is refused by itself.
    const one = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'convert_file', arguments: { file: 'x', to_format: 'html' } },
    };
    const batch = await post(service.url, [one, { jsonrpc: '2.0', id: 2, method: 'ping' }]);
    expect(batch.body).toMatchObject([
      { id: 1, error: { code: 429 } },
      { id: 2, result: {} },
    ]);
    // REST has separate limits.
    expect((await overRest(service)).status).toBe(200);
  });

  it('is refused while as many jobs as may be are unfinished', async () => {
    const service = await serve({ concurrent: 1, cooldownMs: 0 }, { worker: { slots: { office: 1, image: 1, media: 1, pdf: 1 } } });
    // By LibreOffice, which has to start first: no job ends before the last has been asked for.
    const long = () => work(service, 'html', 5, { name: 'a.csv', bytes: Buffer.from('name,size\nkestrel,7\n') });
    const answers = await Promise.all([long(), long(), long()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 429, 429]);
    expect(answers.find(({ status }) => status === 429)?.body?.error?.data?.details).toMatchObject({ tier: 'concurrent', limit: 1 });
    expect((await usage(service)).rejections_last_hour).toBe(0);
  });
});

describe('discovery', () => {
  it('costs nothing, and is open to a client that has nothing left or is banned', async () => {
    const service = await serve({ mcp: 1, readsPerMinute: 5 });
    for (let n = 0; n < 13; n++) await work(service);
    expect((await usage(service)).banned).toBe(true);
    for (let n = 0; n < 10; n++) {
      expect((await send(service.url, '2025-11-25', { jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(200);
      expect((await send(service.url, '2026-07-28', { jsonrpc: '2.0', id: 1, method: 'server/discover' })).status).toBe(200);
      expect((await send(service.url, '2025-11-25', { jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202);
    }
    expect((await call(service.url, 'list_supported_formats')).isError).toBeUndefined();
    expect(refusalIn(await call(service.url, 'get_job_status', { job_id: '0'.repeat(32) })).code).toBe('JOB_NOT_FOUND');
    expect(refusalIn(await call(service.url, 'colorize_photo', { file: 'AAAA' })).code).toBe('NOT_IMPLEMENTED');
    expect((await usage(service)).tiers['mcp']?.used).toBe(1);
  });
});

describe('a ban', () => {
  const DAY = 24 * 3_600_000;

  it('that calls earned holds for REST too, and ends after a day', async () => {
    const service = await serve({ mcp: 1 });
    await work(service);
    for (let n = 0; n < 11; n++) expect((await work(service)).status, `${n}`).toBe(429);
    const refused = await work(service);
    expect(refused.status).toBe(403);
    expect(refused.body?.error).toMatchObject({ code: 403, data: { code: 'BANNED', details: { ban_expires_at: expect.any(String) } } });
    expect((await overRest(service)).error?.code).toBe('BANNED');
    now += DAY + 1_000;
    expect((await work(service)).status).toBe(200);
  });

  it('that REST earned holds for calls too', async () => {
    const service = await serve({ cooldownMs: 3_600_000 });
    for (let n = 0; n < 13; n++) await overRest(service);
    expect((await work(service)).body?.error?.data?.code).toBe('BANNED');
  });

  it('meets no client behind an address that many share, and there is more for all of them', async () => {
    const service = await serve({ mcp: 1, sharedEgress: [{ cidr: '127.0.0.0/8', multiple: 3 }] });
    const statuses = [];
    for (let n = 0; n < 17; n++) statuses.push((await work(service)).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    expect(new Set(statuses.slice(3))).toEqual(new Set([429]));
    expect((await usage(service)).banned).toBe(false);
  });
});

describe('limits that are switched off', () => {
  it('are not spoken of', async () => {
    const service = await serve({ enabled: false });
    const { headers, status } = await work(service);
    expect([status, [...headers.keys()].filter((name) => name.includes('ratelimit'))]).toEqual([200, []]);
  });
});

describe('requests that are held in memory', () => {
  it('are bounded all together: a large one is asked to come again, a small one is served', async () => {
    const service = await serve({ enabled: false }, { api: { mcp: { heldBytes: 200_000 } } });
    const calling = (file: string) => ({
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: { name: 'convert_file', arguments: { file, to_format: 'jpg' } },
    });
    const padded = Buffer.concat([DOT.bytes, Buffer.alloc(112_000)]).toString('base64');
    const large = calling('a'.repeat(250_000));
    const { status, body, headers } = await post(service.url, large);
    expect([status, body?.error?.data?.code, headers.get('retry-after')]).toEqual([503, 'OVERLOADED', '5']);
    for (let n = 0; n < 5; n++) {
      const served = await post(service.url, calling(padded));
      expect([served.status, served.body?.result?.structuredContent?.status]).toEqual([200, 'done']);
    }
  });
});
