/** What the head of the page's document says of a view: search engines, link previews and a browser's list of tabs read it before any script runs. */
import type { Catalog } from '../../catalog/catalog.ts';
import { formatByExtension, formatOf } from '../../catalog/formats.ts';
import type { PageHead, PageHeads } from '../page-files.ts';
import { oncePerCatalog } from './once.ts';

/** What an address leads to. Formats are canonical ids. */
export type AddressView =
  | { readonly at: 'start' | 'tools' | 'jobs' | 'job' | 'missing' }
  | { readonly at: 'to'; readonly to: string }
  | { readonly at: 'pair'; readonly from: string; readonly to: string }
  | { readonly at: 'tool'; readonly slug: string; readonly summary: string };

type Known = Pick<Catalog, 'sources' | 'targets' | 'tools' | 'absent'>;

/** As in `png-to-webp`: extensions that stand for formats, such as `jpeg`, are taken, too. */
export function pairView(catalog: Known, pair: string): AddressView {
  const [from, to] = pair
    .toLowerCase()
    .split('-to-', 2)
    .map((extension) => formatByExtension(extension)?.id);
  const isKnown = from !== undefined && to !== undefined && catalog.sources.includes(from) && catalog.targets(from).includes(to);
  return isKnown ? { at: 'pair', from, to } : { at: 'missing' };
}

/** @param to as in `/?to=pdf`: anything else is the start page */
export function startView(catalog: Known, to: unknown): AddressView {
  const id = typeof to === 'string' && to.length <= LONGEST_EXTENSION ? formatByExtension(to)?.id : undefined;
  return id !== undefined && allTargets(catalog).has(id) ? { at: 'to', to: id } : { at: 'start' };
}
/** To find the targets of every source, all routes are searched: once for each catalog. */
const allTargets = oncePerCatalog(
  ({ sources, targets }: Pick<Known, 'sources' | 'targets'>) => new Set(sources.flatMap((source) => targets(source))),
);
const LONGEST_EXTENSION = 16;

export function toolView({ tools, absent }: Known, slug: string): AddressView {
  const tool = tools.get(slug) ?? absent.get(slug);
  return tool === undefined ? { at: 'missing' } : { at: 'tool', slug, summary: tool.summary };
}

export function headFor(heads: PageHeads, view: AddressView): PageHead {
  if (view.at === 'tool') {
    const { title, description } = heads.tool[view.slug] ?? { title: `filemill: ${view.slug}`, description: '' };
    return { title, description: description || view.summary };
  }
  const head = heads[view.at];
  const values = {
    ...(view.at === 'pair' ? named('from', view.from) : {}),
    ...(view.at === 'pair' || view.at === 'to' ? named('to', view.to) : {}),
  };
  return { title: filledWith(head.title, values), description: filledWith(head.description, values) };
}

type Values = Readonly<Record<string, string>>;
const named = (key: string, id: string): Values => ({ [key]: id.toUpperCase(), [`${key}Name`]: formatOf(id).name });
const filledWith = (text: string, values: Values): string => text.replace(/@@(\w+)@@/g, (_, name: string) => values[name] ?? '');

/** In the document that was built. */
export const withHead = (document: string, { title, description }: PageHead): string =>
  document
    .replace('<title>filemill</title>', () => `<title>${escapedMarkup(title)}</title>`)
    .replace(/<meta name="description" content="[^"]*">/, () => `<meta name="description" content="${escapedMarkup(description)}">`);

/** Text between tags, and in attributes. */
export const escapedMarkup = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
