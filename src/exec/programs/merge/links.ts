/**
 * Links from page to page inside a PDF that was joined to another: qpdf copies page by page, so that those which lead to a later page lead
 * nowhere, and those which lead to a name lead to what the first file calls so, if it does. (ISO 32000-1, 12.3.2 and 12.5.6.5)
 */
import { type Dictionary, type Document, isDictionary, isReference, listOf, refers, type Value } from './document.ts';

/** A page's dictionary, its list of annotations as it is stored, what stands in that, and what is behind it. */
export interface Annotated {
  readonly holder: Value | undefined;
  readonly list: Value | undefined;
  readonly items: readonly Value[];
  readonly notes: readonly (Value | undefined)[];
}

/**
 * @param places references of this document's pages in the joined one
 * @param after what those pages have in the joined one
 * @param replace stores an object anew
 */
export function mendLinks(
  source: Document,
  places: readonly string[],
  after: readonly Annotated[],
  replace: (reference: string, value: Value) => void,
): void {
  const before = annotationsOf(source);
  const targetOf = targets(source, places);
  const wished = before.map(({ notes }) => notes.map(wishOf));
  const found = source.read(wished.flat().map((wish) => (isDictionary(wish) ? wish['/A'] : undefined)));
  let at = 0;
  for (const [page, { notes: originals }] of before.entries()) {
    const { holder, list, items, notes } = after[page] ?? { holder: undefined, list: '', items: [], notes: [] };
    const fresh = originals.map((_, index) => {
      const wish = wished[page]?.[index];
      const action = found[at++];
      const note = notes[index];
      if (!isDictionary(wish) || !isDictionary(note) || notes.length !== originals.length) return undefined;
      const leads = isDictionary(action) && action['/S'] === '/GoTo' ? action['/D'] : wish['/Dest'];
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

/** The link among a page's annotations; undefined for any other. */
const wishOf = (note: Value | undefined): Value | undefined => (isDictionary(note) && note['/Subtype'] === '/Link' ? note : undefined);

/** Of every page, in order, with few readings of the file: each takes as long as the file has objects. */
export function annotationsOf(document: Document): readonly Annotated[] {
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

/** @returns from a destination of the source the same of the joined file; undefined where it leads nowhere */
function targets(source: Document, places: readonly string[]): (leads: Value) => Value | undefined {
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

/** Destinations by name: the tree of strings, and the dictionary of names that came before it. */
function namesOf(source: Document): ReadonlyMap<string, Value> {
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
