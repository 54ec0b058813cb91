/** What the page's addresses cost this service: a catalog is asked once, and what has to be built counts for its client. */
import fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiDeps } from '../../../src/api/deps.ts';
import { startView } from '../../../src/api/page/heads.ts';
import { pageRoutes } from '../../../src/api/page/route.ts';
import { sitemapFor } from '../../../src/api/page/sitemap.ts';
import type { PageHeads } from '../../../src/api/page-files.ts';

/** @returns also how often it was asked for targets */
function aCatalog(tools = 0) {
  const asked: string[] = [];
  const targets: Readonly<Record<string, readonly string[]>> = { png: ['webp', 'jpg'], jpg: ['webp', 'pdf'] };
  const catalog = {
    sources: Object.keys(targets),
    targets: (source: string) => {
      asked.push(source);
      return targets[source] ?? [];
    },
    tools: new Map(Array.from({ length: tools }, (_, at) => [`tool-${at}`, { summary: `Tool ${at}` }])),
    absent: new Map(),
  } as unknown as ApiDeps['catalogue']['current'];
  return { catalog, asked };
}

describe('a catalog is asked for the targets of each source once', () => {
  it('for all start pages', () => {
    const { catalog, asked } = aCatalog();
    const views = ['pdf', 'webp', 'png', 'mp3', 'pdf', 'x'].map((to) => startView(catalog, to).at);
    expect(views).toEqual(['to', 'to', 'start', 'start', 'to', 'start']);
    expect(asked).toEqual(['png', 'jpg']);
    expect(startView(aCatalog().catalog, 'pdf')).toEqual({ at: 'to', to: 'pdf' });
  });

  it('for the sitemap at all addresses', () => {
    const { catalog, asked } = aCatalog(1);
    const first = sitemapFor(catalog, 'https://a.example');
    expect(first).toContain('<loc>https://a.example/png-to-webp</loc>');
    expect(first).toContain('<loc>https://a.example/tools/tool-0</loc>');
    expect(sitemapFor(catalog, 'https://b.example')).toContain('<loc>https://b.example/png-to-webp</loc>');
    expect(sitemapFor(catalog, 'https://a.example')).toBe(first);
    expect(asked).toEqual(['png', 'jpg']);
    // One that takes its place is asked again.
    expect(sitemapFor(aCatalog(2).catalog, 'https://a.example')).toContain('/tools/tool-1<');
  });
});

describe('a view of the page', () => {
  const TOOLS = 60;
  let counted = 0;
  const app = fastify();
  const head = { title: 'a title', description: '' };
  const others = { start: head, to: head, pair: head, tools: head, jobs: head, job: head, missing: head };
  const heads: PageHeads = { ...others, tool: {} };
  const deps = {
    service: {
      page: {
        document: '<html lang="en"><title>filemill</title><body><div id="app"></div></body></html>',
        firstViews: new Map(),
        heads: new Map([['en', heads]]),
        searchable: false,
        plainViews: new Map(),
        assets: new Map(),
      },
      settings: { trustProxy: [], allowedHosts: [] },
    },
    catalogue: { current: aCatalog(TOOLS).catalog },
    limits: {
      identify: () => 'a client',
      flood: {
        take() {
          counted++;
          return undefined;
        },
      },
      clock: () => 0,
    },
  } as unknown as ApiDeps;

  beforeAll(async () => {
    app.decorateRequest('admission');
    pageRoutes(app, deps);
    await app.ready();
  });
  afterAll(() => app.close());
  const visit = async (path: string): Promise<number> => {
    const before = counted;
    expect((await app.inject(path)).statusCode).toBe(200);
    return counted - before;
  };

  it('costs nothing while it is kept', async () => {
    expect([await visit('/tools/tool-0'), await visit('/tools/tool-0'), await visit('/tools/tool-0')]).toEqual([1, 0, 0]);
  });
  it('costs a read each time that it is built', async () => {
    const round = async () => {
      let sum = 0;
      for (let at = 0; at < TOOLS; at++) sum += await visit(`/tools/tool-${at}`);
      return sum;
    };
    await round();
    // More than are kept.
    expect(await round()).toBe(TOOLS);
  });
  it('is counted once where its address costs a read', async () => {
    // Here nothing counts what a request costs by itself.
    expect(await visit('/png-to-webp')).toBe(0);
  });
});
