/** `POST /api/v1/tools/webpage-to-pdf` over HTTP: its three bodies, what it refuses at the door, and what is kept of a URL. */
import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCatalog } from '../../../src/catalog/catalog.ts';
import { engines } from '../../../src/catalog/engines.gen.ts';
import { openWeb, type Web } from '../../kit/api/web.ts';
import { newObjectsIn, objectsIn } from '../../kit/api/wire.ts';
import { type Answer, convert, endProcess, readAnswer, type Service, startProcess, startService } from '../../kit/roles/service.ts';

const TOOL = '/api/v1/tools/webpage-to-pdf';
const SECRET = 'token-88f1c7';
let web: Web;
let service: Service;
let base: string;

beforeAll(async () => {
  web = await openWeb(() => ({ '/': '<h1>Kestrel</h1>', '/private': '<h1>Osprey</h1>' }));
  base = `http://127.0.0.2:${web.port}`;
  service = await startService({ fetch: { ports: [web.port], allow: ['127.0.0.2/32'] } });
});
afterAll(async () => {
  await service?.stop();
  web?.close();
});

type Fields = Readonly<Record<string, string>>;
const json = (fields: unknown) => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(fields) });
const urlencoded = (fields: Fields) => ({ body: new URLSearchParams(fields) });
function multipart(fields: Fields) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  return { body };
}
const ask = async (request: RequestInit, url = service.url): Promise<Answer> =>
  readAnswer(await fetch(url + TOOL, { method: 'POST', ...request }));
async function textOf({ data }: Answer): Promise<string> {
  const pdf = Buffer.from(await (await fetch(data?.output?.url ?? '')).arrayBuffer());
  return execFileSync('pdftotext', ['-', '-'], { input: pdf }).toString();
}

describe('a page by its URL', { timeout: 60_000 }, () => {
  it.each([
    ['multipart', multipart],
    ['urlencoded', urlencoded],
    ['JSON', json],
  ])('comes as a PDF that is named after its host, asked for in %s', async (_, bodyOf) => {
    const answer = await ask(bodyOf({ url: `${base}/`, page_size: 'A3', wait_ms: '1' }));
    expect(answer).toMatchObject({ status: 200, data: { status: 'done', warnings: [], engine: { name: 'Chromium' } } });
    expect(answer.data?.output).toMatchObject({ filename: '127.0.0.2-filemill.pdf', content_type: 'application/pdf' });
    expect(await textOf(answer)).toContain('Kestrel');
  });

  it('takes numbers and booleans in JSON', async () => {
    const answer = await ask(json({ url: `${base}/`, landscape: true, wait_ms: 10, print_background: null, margin: 3 }));
    expect(answer.data?.warnings).toEqual([{ code: 'option_unknown', message: 'There is no option "margin".' }]);
    expect(await textOf(answer)).toContain('Kestrel');
  });

  it.each([
    ['scheme', 'file:///etc/passwd'],
    ['scheme', 'javascript:alert(1)'],
    ['scheme', 'data:text/html,x'],
    ['address', 'http://127.0.0.1:PORT/'],
    ['address', 'http://[::ffff:127.0.0.1]:PORT/'],
    ['address', 'http://169.254.169.254:PORT/latest/meta-data/'],
    ['address', 'http://0x7f.1:PORT/'],
    ['port', 'http://127.0.0.2:22/'],
    ['credentials', 'http://me:secret@127.0.0.2:PORT/'],
    ['dns', 'http://nobody.invalid:PORT/'],
  ])('is refused at the door for its %s: %s', async (reason, url) => {
    const before = objectsIn(service.dataDir);
    const answer = await ask(json({ url: url.replace('PORT', String(web.port)) }));
    expect(answer).toMatchObject({ status: 400, error: { code: 'URL_REFUSED', details: { reason } } });
    expect(newObjectsIn(service.dataDir, before)).toEqual([]);
    expect(web.heard).toEqual([]);
  });

  it.each([
    ['no URL', json({}), 'INVALID_OPTION', { option: 'url' }],
    ['an unknown page size', urlencoded({ url: 'BASE', page_size: 'B7' }), 'INVALID_OPTION', { option: 'page_size' }],
    ['a longer wait than is granted', urlencoded({ url: 'BASE', wait_ms: '10001' }), 'INVALID_OPTION', { option: 'wait_ms' }],
    ['a list', json(['a']), 'BAD_REQUEST', {}],
    ['a URL that is no text', json({ url: { href: 'x' } }), 'BAD_REQUEST', {}],
    ['half a body', { headers: { 'content-type': 'application/json' }, body: '{"url":' }, 'BAD_REQUEST', {}],
    ['a body of no such kind', { headers: { 'content-type': 'text/plain' }, body: 'url=x' }, 'NO_FILE', {}],
    ['more than a body holds', urlencoded({ url: 'x'.repeat(70_000) }), 'BAD_REQUEST', {}],
  ])('%s is refused, and nothing is left', async (_, request, code, details) => {
    const before = objectsIn(service.dataDir);
    if (request.body instanceof URLSearchParams && request.body.get('url') === 'BASE') request.body.set('url', base);
    expect(await ask(request as RequestInit)).toMatchObject({ status: 400, error: { code, details } });
    expect(newObjectsIn(service.dataDir, before)).toEqual([]);
  });

  it('answers with an error as its server did', async () => {
    const answer = await ask(json({ url: `${base}/nowhere` }));
    expect(answer).toMatchObject({ status: 500, error: { code: 'CONVERSION_FAILED', details: { reason: 'page_unreachable' } } });
  });
});

it('a URL is in no record and no line of the log', { timeout: 60_000 }, async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'filemill-webpage-'));
  await chmod(dataDir, 0o755);
  const process = await startProcess(dataDir, { fetch: { ports: [web.port], allow: ['127.0.0.2/32'] } }, { LOG_LEVEL: 'trace' });
  try {
    const answers = [
      await ask(json({ url: `${base}/private?${SECRET}` }), process.url),
      await ask(json({ url: `${base}/nowhere?${SECRET}` }), process.url),
      await ask(json({ url: `http://127.0.0.1:${web.port}/?${SECRET}` }), process.url),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 500, 400]);
    expect(await textOf(answers[0] as Answer)).toContain('Osprey');
    expect(process.lines.join('\n')).not.toContain(SECRET);
    for (const name of (await readdir(dataDir)).filter((each) => each.includes('.db')))
      expect((await readFile(join(dataDir, name))).includes(SECRET)).toBe(false);
    expect(objectsIn(dataDir).filter((name) => name.includes('input'))).toEqual([]);
  } finally {
    await endProcess(process);
    await rm(dataDir, { recursive: true, force: true });
  }
});

it('a service that fetches nothing says that the tool is not there, and still prints files', { timeout: 60_000 }, async () => {
  const closed = await startService({ fetch: { rest: false } });
  try {
    const answer = await ask(json({ url: `${base}/` }), closed.url);
    expect(answer).toMatchObject({ status: 501, error: { code: 'NOT_IMPLEMENTED', details: { slug: 'webpage-to-pdf' } } });
    expect(answer.error?.details['reason']).toContain('fetch.rest');
    const printed = await convert(closed.url, { name: 'page.html', bytes: Buffer.from('<h1>Kestrel</h1>') }, 'pdf');
    expect(printed.data?.engine?.name).toBe('Chromium');
    expect(await textOf(printed)).toContain('Kestrel');
  } finally {
    await closed.stop();
  }
});

describe('without Chromium', () => {
  const all = engines.map((engine) => ({ engine, version: '' }));
  const [whole, without] = [createCatalog(all), createCatalog(all.filter(({ engine }) => engine.name !== 'Chromium'))];
  const way = (catalog: typeof whole, source: string, target: string) => catalog.route(source, target)?.hops.map(({ engine }) => engine.id);

  it.each([
    ['html', 'pdf', ['chromium'], 'libreoffice'],
    ['html', 'png', ['chromium'], 'libreoffice'],
    ['md', 'pdf', ['pandoc-page', 'chromium'], 'libreoffice'],
    ['md', 'png', ['pandoc-page', 'chromium'], 'libreoffice'],
  ])('%s becomes %s by another way', (source, target, best, other) => {
    expect(way(whole, source, target)).toEqual(best);
    expect(way(without, source, target)).toContain(other);
  });

  it('the tool is listed with the reason', () => {
    expect(whole.tools.has('webpage-to-pdf')).toBe(true);
    expect(without.absent.get('webpage-to-pdf')?.reason).toBe('Chromium is not installed');
  });
});
