/**
 * Repairs links from page to page in a PDF that was joined to another. qpdf copies page by page: links to a later page lead nowhere, and links
 * to a named destination resolve to the first file's name, if it has one. (ISO 32000-1, 12.3.2 and 12.5.6.5)
 */
import { type Dictionary, isDictionary, isReference, listOf, type PdfDocument, refers, type Value } from './document.ts';

/** A page's dictionary, its stored list of annotations, the items of that list, and the annotations themselves. */
export interface Annotated {
  readonly holder: Value | undefined;
  readonly list: Value | undefined;
  readonly items: readonly Value[];
  readonly notes: readonly (Value | undefined)[];
}

/**
 * @param places references of this document's pages in the joined document
 * @param after the annotations of those pages in the joined document
 * @param replace stores a new version of an object
 */
export function mendLinks(
  source: PdfDocument,
  places: readonly string[],
  after: readonly Annotated[],
  replace: (reference: string, value: Value) => void,
): void {
  const before = annotationsOf(source);
  const targetOf = targets(source, places);
  const links = before.map(({ notes }) => notes.map(linkOf));
  const found = source.read(links.flat().map((link) => (isDictionary(link) ? link['/A'] : undefined)));
  let at = 0;
  for (const [page, { notes: originals }] of before.entries()) {
    const { holder, list, items, notes } = after[page] ?? { holder: undefined, list: '', items: [], notes: [] };
    const fresh = originals.map((_, index) => {
      const link = links[page]?.[index];
      const action = found[at++];
      const note = notes[index];
      if (!isDictionary(link) || !isDictionary(note) || notes.length !== originals.length) return undefined;
      const leads = isDictionary(action) && action['/S'] === '/GoTo' ? action['/D'] : link['/Dest'];
      const target = leads === undefined || leads === null ? undefined : targetOf(leads);
      const { '/A': replaced, ...rest } = note;
      return target === undefined ? undefined : { ...rest, '/Dest': target };
    });
    for (const [index, value] of fresh.entries()) {
      const item = items[index];
      if (value !== undefined && isReference(item)) replace(item, value);
    }
    if (!fresh.some((value, index) => value !== undefined && !isReference(items[index]))) continue;
    const all = items.map((item, index) => (isReference(item) ? item : (fresh[index] ?? item)));
    if (isReference(list)) replace(list, all);
    else if (isDictionary(holder)) replace(places[page] ?? '', { ...holder, '/Annots': all });
  }
}

/** The annotation if it is a link, else undefined. */
const linkOf = (note: Value | undefined): Value | undefined => (isDictionary(note) && note['/Subtype'] === '/Link' ? note : undefined);

/** The annotations of every page, in order, with few reads of the file: each takes time linear in the file's objects. */
export function annotationsOf(document: PdfDocument): readonly Annotated[] {
  const holders = document.read(document.pages);
  const lists = holders.map((holder) => (isDictionary(holder) ? holder['/Annots'] : undefined));
  const items = document.read(lists).map(listOf);
  const notes = document.read(items.flat());
  let at = 0;
  return holders.map((holder, page) => {
    const own = items[page] ?? [];
    at += own.length;
    return { holder, list: lists[page], items: own, notes: notes.slice(at - own.length, at) };
  });
}

/** @returns a function that maps a destination of the source to the joined file; undefined if it leads nowhere */
function targets(source: PdfDocument, places: readonly string[]): (leads: Value) => Value | undefined {
  const place = new Map(source.pages.map((page, index) => [page, places[index]]));
  let names: ReadonlyMap<string, Value> | undefined;
  return (leads) => {
    let given = source.readOne(leads);
    if (typeof given === 'string') {
      names ??= namesOf(source);
      given = source.readOne(names.get(given));
    }
    const [page, ...view] = listOf(isDictionary(given) ? source.readOne(given['/D']) : given);
    const to = typeof page === 'string' ? place.get(page) : undefined;
    return to === undefined || view.some(refers) ? undefined : [to, ...view];
  };
}

/** Destinations by name: from the name tree, and from the older dictionary of names. */
function namesOf(source: PdfDocument): ReadonlyMap<string, Value> {
  const child = (of: Value | undefined, key: string) => source.readOne(isDictionary(of) ? of[key] : undefined);
  const root = source.readOne(source.root);
  const old = child(root, '/Dests');
  const names = new Map<string, Value>(isDictionary(old) ? Object.entries(old) : []);
  const seen = new Set<Value>();
  let level: readonly (Value | undefined)[] = [child(child(root, '/Names'), '/Dests')];
  while (level.length > 0) {
    const nodes = level.filter((node): node is Dictionary => isDictionary(node) && !seen.has(node));
    for (const node of nodes) {
      seen.add(node);
      const pairs = listOf(source.readOne(node['/Names']));
      for (let index = 0; index + 1 < pairs.length; index += 2) names.set(String(pairs[index]), pairs[index + 1] ?? null);
    }
    level = source.read(nodes.flatMap((node) => listOf(source.readOne(node['/Kids']))));
  }
  return names;
}
