/** API replicas and workers of web pages that reach the Internet through the role `egress` only, each a separate process. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeb, type Web } from '../../kit/api/web.ts';
import { eventually } from '../../kit/api/wire.ts';
import { type Cluster, type Role, startCluster } from '../../kit/roles/cluster.ts';
import { type Answer, checkout, endProcess, readAnswer, type ServiceProcess, settled, startProcess } from '../../kit/roles/service.ts';

const TOKEN = 'a-token-that-egress-and-its-clients-share';
const SECRET = 'token-88f1c7';
const TABLE = 'name,size\nkestrel,7\n';
const FILEMILL = join(checkout, 'scripts/filemill');

let home: string;
let web: Web;
let base: string;
let cluster: Cluster;
let egress: ServiceProcess;
let api: Role;
let workers: Role[];

/** It alone may reach the test's servers: a role that connected directly would refuse the address. */
const startEgress = async (port = '0') =>
  startProcess(
    await mkdtemp(join(home, 'egress-')),
    { fetch: { ports: [web.port, 80], allow: ['127.0.0.2/32'] } },
    { EGRESS_TOKEN: TOKEN, EGRESS_PORT: port, LOG_LEVEL: 'trace' },
    [FILEMILL, 'egress'],
  );
const through = () => ({ EGRESS_URL: egress.url, EGRESS_TOKEN: TOKEN, LOG_LEVEL: 'trace' });

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-egress-'));
  web = await openWeb((port) => ({
    '/table.csv': (_, response) => response.end(TABLE),
    '/moved': (_, response) => response.writeHead(302, { location: '/table.csv' }).end(),
    '/away': (_, response) => response.writeHead(302, { location: `http://127.0.0.1:${port}/` }).end(),
    '/round': (_, response) => response.writeHead(302, { location: '/round' }).end(),
    '/large': (_, response) => response.end(Buffer.alloc(5_000, 97)),
    '/page': `<h1>Kestrel</h1><p id=told>nothing</p><img src="http://127.0.0.1:${port}/canary"><script src=/told.js></script>`,
    '/told.js': (_, response) => response.end('document.getElementById("told").textContent = "Osprey"'),
  }));
  base = `http://127.0.0.2:${web.port}`;
  [cluster, egress] = await Promise.all([startCluster(), startEgress()]);
  const fetching = { fetch: { http: true, ports: [web.port, 80] } };
  api = await cluster.start('api', through(), { ...fetching, api: { maxFileBytes: 4_000 } });
  workers = await Promise.all([
    cluster.start('worker', { POOL: 'web', ...through() }, { ...fetching, worker: { slots: { web: 1 } } }),
    cluster.start('worker', { POOL: 'office' }, { worker: { slots: { office: 1 } } }),
  ]);
  await eventually(
    async () => {
      const { data } = (await (await fetch(`${api.url}/api/v1/tools`)).json()) as {
        data: { tools: { slug: string; available: boolean }[] };
      };
      return data.tools.some(({ slug, available }) => slug === 'webpage-to-pdf' && available);
    },
    'the replica to know of the workers',
    30_000,
  );
});
afterAll(async () => {
  await cluster?.stop();
  if (egress !== undefined) await endProcess(egress);
  web?.close();
  await rm(home, { recursive: true, force: true });
});

async function ask(path: string, fields: Readonly<Record<string, string>>): Promise<Answer> {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  return settled(api.url ?? '', await readAnswer(await fetch(`${api.url}/api/v1/${path}`, { method: 'POST', body })));
}
const convert = (url: string) => ask('convert', { url, to_format: 'html' });
const print = (url: string) => ask('tools/webpage-to-pdf', { url });
const output = async ({ data }: Answer) => Buffer.from(await (await fetch(data?.output?.url ?? '')).arrayBuffer());

describe('through egress', () => {
  it.each(['/table.csv', '/moved', `/table.csv?${SECRET}`])('a table at %s becomes a page', async (path) => {
    expect(String(await output(await convert(base + path)))).toContain('kestrel');
  });

  it('a page of the web comes as a PDF, with what it loads from public servers and nothing else', async () => {
    const printed = await print(`${base}/page?${SECRET}`);
    const text = execFileSync('pdftotext', ['-', '-'], { input: await output(printed) }).toString();
    expect(text).toMatch(/Kestrel\s+Osprey/);
    expect(web.heard).toEqual([]);
  });

  it.each([
    ['an address that is not public', 'http://127.0.0.1:PORT/', 400, 'URL_REFUSED', { reason: 'address' }],
    ['a redirect to one', '/away', 400, 'URL_REFUSED', { reason: 'address' }],
    ['a redirect that never ends', '/round', 400, 'URL_REFUSED', { reason: 'redirects', max: 3 }],
    ['a local file', 'file:///etc/passwd', 400, 'URL_REFUSED', { reason: 'scheme' }],
    ['a port that is not allowed', 'http://127.0.0.2:22/', 400, 'URL_REFUSED', { reason: 'port' }],
    ['a password', 'http://me:secret@127.0.0.2/', 400, 'URL_REFUSED', { reason: 'credentials' }],
    ['a name that does not exist', 'http://nobody.invalid:PORT/', 400, 'URL_REFUSED', { reason: 'dns' }],
    ['a server that is not there', 'http://127.0.0.2:80/', 400, 'URL_REFUSED', { reason: 'unreachable' }],
    ['nothing there', '/nowhere', 400, 'URL_REFUSED', { reason: 'unreachable', status: 404 }],
    ['more bytes than are accepted', '/large', 413, 'FILE_TOO_LARGE', { max_bytes: 4_000, received_bytes: 5_000 }],
  ])('%s is refused as it is without', async (_, url, status, code, details) => {
    const answer = await convert(url.startsWith('/') ? base + url : url.replace('PORT', String(web.port)));
    expect(answer).toMatchObject({ status, error: { code, details } });
  });

  it.each([
    ['address', 'http://127.0.0.1:PORT/'],
    ['dns', 'http://nobody.invalid:PORT/'],
  ])('a page is refused at the door for its %s', async (reason, url) => {
    expect(await print(url.replace('PORT', String(web.port)))).toMatchObject({
      status: 400,
      error: { code: 'URL_REFUSED', details: { reason } },
    });
    expect(web.heard).toEqual([]);
  });

  it('what became of requests is counted, and no URL or address is logged', async () => {
    const metrics = await (await fetch(`${egress.url}/metrics`)).text();
    expect(metrics).toMatch(/filemill_egress_requests_total\{what="tunnel"\} [1-9]/);
    expect(metrics).toMatch(/filemill_egress_requests_total\{what="refused: address"\} [1-9]/);
    const lines = [egress, api, ...workers].flatMap(({ lines }) => lines).join('\n');
    expect(egress.lines.join('\n')).toContain('a request to egress');
    for (const word of [SECRET, 'table.csv', 'nobody.invalid', '127.0.0.2', TOKEN]) expect(lines).not.toContain(word);
  });
});

it('while egress is away, URLs are answered with 503, and again with files when it is back', async () => {
  const { port } = new URL(egress.url);
  await endProcess(egress, 'SIGKILL');
  const details = { retryable: true };
  expect(await convert(`${base}/table.csv`)).toMatchObject({ status: 503, error: { code: 'OVERLOADED', details } });
  expect(await print(`${base}/page`)).toMatchObject({ status: 503, error: { code: 'OVERLOADED', details } });
  egress = await startEgress(port);
  expect(String(await output(await convert(`${base}/table.csv`)))).toContain('kestrel');
});

it.each([
  ['egress', {}, 'set EGRESS_TOKEN'],
  ['egress', { EGRESS_TOKEN: 'short' }, 'EGRESS_TOKEN, egress.token: received (hidden); expected text of at least 32 characters'],
  ['egress', { EGRESS_TOKEN: TOKEN, EGRESS_PORT: 'PORT' }, 'set EGRESS_PORT'],
  ['local', { EGRESS_URL: 'http://127.0.0.1:9' }, 'set EGRESS_TOKEN'],
  ['local', { EGRESS_URL: 'http://me@127.0.0.1:9/path', EGRESS_TOKEN: TOKEN }, 'EGRESS_URL, egress.url'],
])('the role %s does not start with %j', async (role, environment, says) => {
  const { port } = new URL(egress.url);
  const given = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value.replace('PORT', port)]));
  const started = startProcess(await mkdtemp(join(home, 'none-')), {}, given, [FILEMILL, role]);
  await expect(started).rejects.toThrow(says);
});
