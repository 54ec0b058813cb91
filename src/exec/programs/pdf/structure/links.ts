/** The annotations of pages, and where the links among them lead. (ISO 32000-1, 12.5.6.5) */
import { type PageView, resolveDestinations } from './destinations.ts';
import { type Dictionary, isDictionary, isReference, listOf, type PdfDocument, refers, type Value } from './document.ts';

/** A page's dictionary, its stored list of annotations, the items of that list, and the annotations themselves. */
export interface Annotated {
  readonly holder: Value | undefined;
  readonly list: Value | undefined;
  readonly items: readonly Value[];
  readonly notes: readonly (Value | undefined)[];
}

/** Stores a new version of an object. */
export type Store = (reference: string, value: Value) => void;

/**
 * Repairs links from page to page in a PDF that was joined to another. qpdf copies page by page: links to a later page lead nowhere, and links
 * to a named destination resolve to the first file's name, if it has one.
 * @param places references of this document's pages in the joined document
 * @param after the annotations of those pages in the joined document
 */
export function mendLinks(source: PdfDocument, places: readonly string[], after: readonly Annotated[], store: Store): void {
  const before = annotationsOf(source);
  const place = new Map<Value | undefined, string | undefined>(source.pages.map((page, index) => [page, places[index]]));
  for (const [page, destinations] of linksIn(source, before).entries()) {
    const annotated = after[page];
    if (annotated === undefined || annotated.notes.length !== destinations.length) continue;
    const items = annotated.items.map((item, index) => {
      const [note, [leadsTo, ...view]] = [annotated.notes[index], destinations[index] ?? []];
      const to = place.get(leadsTo);
      return to === undefined || !isDictionary(note) || view.some(refers) ? item : stored(item, leadingTo(note, [to, ...view]), store);
    });
    storeItems(annotated, places[page] ?? '', items, store);
  }
}

/** The annotation if it is a link, else undefined. */
const linkOf = (note: Value | undefined): Dictionary | undefined => (isDictionary(note) && note['/Subtype'] === '/Link' ? note : undefined);

/** The same link, to this destination. */
export const leadingTo = ({ '/A': _, ...link }: Dictionary, destination: PageView): Dictionary => ({ ...link, '/Dest': destination });

/** Where the links of each page lead inside the document; undefined for every other annotation. */
export function linksIn(document: PdfDocument, pages: readonly Annotated[]): readonly (readonly (PageView | undefined)[])[] {
  const links = pages.flatMap(({ notes }) => notes.map(linkOf));
  const actions = document.read(links.map((link) => link?.['/A']));
  const destinations = resolveDestinations(
    document,
    links.map((link, index) => {
      const action = actions[index];
      return isDictionary(action) && action['/S'] === '/GoTo' ? action['/D'] : link?.['/Dest'];
    }),
  );
  let at = 0;
  return pages.map(({ notes }) => notes.map(() => destinations[at++]));
}

/** Stores a new version of an annotation. @returns the item of the list that stands for it */
export function stored(item: Value, note: Dictionary, store: Store): Value {
  if (!isReference(item)) return note;
  store(item, note);
  return item;
}

/** Stores a page's list of annotations, if it has become another. */
export function storeItems({ holder, list, items }: Annotated, page: string, fresh: readonly Value[], store: Store): void {
  if (fresh.length === items.length && fresh.every((item, index) => item === items[index])) return;
  if (isReference(list)) store(list, fresh);
  else if (isDictionary(holder)) store(page, { ...holder, '/Annots': fresh });
}

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
