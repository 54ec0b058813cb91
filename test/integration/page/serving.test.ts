/** How the page is served: small, packed, kept for good, below any path, or not at all. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Service, type Settings, startService } from '../../kit/roles/service.ts';

const HTML = { accept: 'text/html,application/xhtml+xml' };
/** What the start page leads to. */
const POPULAR = ['/heic-to-jpg', '/pdf-to-docx', '/jpg-to-pdf', '/mp4-to-mp3'].concat(
  ['merge-pdf', 'compress-pdf', 'compress-image', 'remove-background'].map((slug) => `/tools/${slug}`),
);
const services: Service[] = [];
async function serve(settings: Settings): Promise<Service> {
  const service = await startService(settings);
  services.push(service);
  return service;
}
afterAll(async () => {
  for (const service of services) await service.stop();
});

describe('the page', () => {
  let url: string;
  let html: string;
  let assets: readonly string[];
  beforeAll(async () => {
    // A view that has to be built costs a read: three are asked for below, and `/` once by a program.
    ({ url } = await serve({ limits: { readsPerMinute: 6 } }));
    html = await (await fetch(url, { headers: HTML })).text();
    assets = [...new Set([...html.matchAll(/\bassets\/[\w.-]+/g)].map(([path]) => path))];
  });

  it('needs at most 100 kB for its first view, gzipped', async () => {
    const icon = /href="\.\/(assets\/[^"]+)"/.exec(html)?.[1];
    const drawn = await (await fetch(`${url}/${icon}`)).text();
    expect(drawn).toContain('<svg');
    // All else that a first view needs is in the document.
    expect(html).not.toMatch(/<script[^>]* src=|<link rel="stylesheet"/);
    const total = gzipSync(html).length + gzipSync(drawn).length;
    expect(total).toBeGreaterThan(10_000);
    expect(total).toBeLessThan(100_000);
  });

  it.each(['br', 'gzip'])('is sent as %s, and kept for good by its name', async (coding) => {
    const script = assets.find((path) => path.startsWith('assets/texts.de'));
    const response = await fetch(`${url}/${script}`, { headers: { 'accept-encoding': coding } });
    expect(response.headers.get('content-encoding')).toBe(coding);
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    const text = await response.text();
    expect(text.length).toBeGreaterThan(10_000);
    expect(text).toBe(await (await fetch(`${url}/${script}`, { headers: { 'accept-encoding': 'identity' } })).text());
  });

  it('has a policy that allows no other origin, and nothing inline but its script and its style, by their digests', async () => {
    const response = await fetch(`${url}/tools`, { headers: HTML });
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const inline = ['script', 'style'].flatMap((tag) => [...html.matchAll(new RegExp(`<${tag}[^>]*>(.*?)</${tag}>`, 'gs'))]);
    const digests = inline.map(([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`);
    expect(policy.match(/'sha256-[^']+'/g)).toEqual(digests);
    expect(digests).toHaveLength(2);
    const markup = inline.reduce((rest, [tag]) => rest.replace(tag, ''), html);
    expect(markup).not.toMatch(/<script|<style|\son\w+=|\sstyle=/);
    expect(response.headers.get('cache-control')).toBe('no-cache');
  });

  it('costs nothing of the limits', async () => {
    for (let n = 0; n < 8; n++) expect((await fetch(`${url}/${assets[0]}`)).status).toBe(200);
    expect((await fetch(`${url}/tools/merge-pdf`)).status).toBe(200);
  });

  it('answers 404 for a tool that there is not, and for a file', async () => {
    const tool = await fetch(`${url}/tools/no-such-tool`, { headers: HTML });
    expect([tool.status, tool.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    for (const name of ['none.js', '..%2findex.html', '%2e%2e%2findex.html'])
      expect((await fetch(`${url}/assets/${name}`)).status).toBe(404);
  });

  it('leaves `/` to programs that do not ask for HTML', async () => {
    const { data } = (await (await fetch(url)).json()) as { data: { links: Readonly<Record<string, string>> } };
    expect(data.links).toMatchObject({ docs: `${url}/docs`, openapi: `${url}/openapi.json`, mcp: `${url}/mcp` });
  });
});

it('tells a browser of a mistyped address, and programs in JSON', async () => {
  const { url } = await serve({});
  const mistyped = await fetch(`${url}/toolz`, { headers: HTML });
  expect([mistyped.status, mistyped.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  expect(await mistyped.text()).toContain('<title>filemill: There is no such page</title>');
  for (const [path, headers] of [
    ['/toolz', {}],
    ['/api/v1/toolz', HTML],
    ['/mcp/toolz', HTML],
  ] as const) {
    const answer = await fetch(`${url}${path}`, { headers });
    expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([404, 'NOT_FOUND']);
  }
});

it('is below the path of the public URL', async () => {
  const { url } = await serve({ api: { publicUrl: 'https://files.example.org/mill/' } });
  for (const path of ['/', '/mill/', '/mill/tools/merge-pdf']) {
    const html = await (await fetch(`${url}${path}`, { headers: HTML })).text();
    expect(html).toContain('<base href="/mill/">');
    expect(html).toContain(' action="/mill/plain"');
    // The first view stands in the document at `/` alone, and its links lead below the path too, as do those for browsers without JavaScript.
    expect([...html.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, to]) => to)).toEqual([
      '/mill/docs',
      ...(path.endsWith('/')
        ? ['/mill/', '/mill/', '/mill/tools', '/mill/jobs', '/mill/docs', ...POPULAR.map((view) => `/mill${view}`)]
        : []),
    ]);
  }
});

it('can be switched off', async () => {
  const { url } = await serve({ web: { enabled: false } });
  const response = await fetch(url, { headers: HTML, redirect: 'manual' });
  expect([response.status, response.headers.get('location')]).toEqual([302, '/docs']);
  expect((await fetch(`${url}/tools`, { headers: HTML })).status).toBe(404);
});
