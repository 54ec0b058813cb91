/** The addresses that search engines may know, where the operator wants them to (https://www.sitemaps.org/protocol.html). */
import type { Catalog } from '../../catalog/catalog.ts';
import { formatOf } from '../../catalog/formats.ts';
import { escapedMarkup } from './heads.ts';
import { oncePerCatalog } from './once.ts';

type Listed = Pick<Catalog, 'sources' | 'targets' | 'tools'>;

/** The latest sitemap of a catalog: most clients reach us by one address. */
interface Latest {
  readonly base: string;
  readonly sitemap: string;
}
const latest = new WeakMap<Listed, Latest>();

/** @param base the service's address, without a slash at its end */
export function sitemapFor(catalog: Listed, base: string): string {
  const known = latest.get(catalog);
  if (known?.base === base) return known.sitemap;
  const sitemap = sitemapOf(viewsForSearch(catalog), base);
  latest.set(catalog, { base, sitemap });
  return sitemap;
}

/** The start page, every tool that works here, and conversions between formats that many people have. */
const viewsForSearch = oncePerCatalog(({ sources, targets, tools }: Listed): readonly string[] => {
  const common = (format: string): boolean => formatOf(format).use === 'common';
  const pairs = sources.filter(common).flatMap((from) =>
    targets(from)
      .filter((to) => to !== from && common(to))
      .map((to) => `/${from}-to-${to}`),
  );
  return ['/', '/tools', ...[...tools.keys()].map((slug) => `/tools/${slug}`), ...pairs];
});

const sitemapOf = (views: readonly string[], base: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${views
    .map((view) => `<url><loc>${escapedMarkup(`${base}${view}`)}</loc></url>\n`)
    .join('')}</urlset>\n`;
