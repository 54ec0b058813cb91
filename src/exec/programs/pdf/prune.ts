/**
 * Takes out of a PDF what leads to pages that are left out of the result: outline entries, links, named destinations, and the page that it opens
 * at. qpdf keeps them, and they lead nowhere.
 *
 *   prune.ts INPUT.pdf PAGES UPDATE.json SCRATCH [PASSWORD.txt]
 *
 * PAGES are the numbers of those that stay, as in `1,3,4`; or `each`, where every page becomes a document, to which qpdf copies no names. Writes the input of
 * `qpdf --update-from-json` for INPUT.
 */
import { writeFileSync } from 'node:fs';
import { namePlaces, pairsOf, resolveDestinations } from './structure/destinations.ts';
import { type Dictionary, isDictionary, isReference, PdfDocument, type Value } from './structure/document.ts';
import { annotationsOf, leadingTo, linksIn, stored, storeItems } from './structure/links.ts';
import { remainingEntries, writeOutlines } from './structure/outlines.ts';

const [file = '', pages = '', update = '', scratch = '', passwordFile] = process.argv.slice(2);
const document = new PdfDocument(file, scratch, passwordFile);
const each = pages === 'each';
const kept = new Set(pages.split(',').map(Number));
const numberOf = new Map<Value | undefined, number>(document.pages.map((page, index) => [page, index + 1]));
/** Whether it leads to a page of the document that the result, or the part with page `from`, no longer has. */
const isLost = (leadsTo: Value | undefined, from?: number): boolean => {
  const page = numberOf.get(leadsTo);
  return page !== undefined && (each ? page !== from : !kept.has(page));
};

const objects: Record<string, { readonly value: Value }> = {};
const store = (reference: string, value: Value) => {
  objects[`obj:${reference}`] = { value };
};
let last = document.highest;
const next = () => {
  last++;
  return `${last} 0 R`;
};

const annotated = annotationsOf(document);
for (const [index, destinations] of linksIn(document, annotated).entries()) {
  const own = annotated[index];
  if (own === undefined || !(each || kept.has(index + 1))) continue;
  const items = own.items.flatMap((item, place) => {
    const [destination, note] = [destinations[place], own.notes[place]];
    if (destination === undefined || !isDictionary(note)) return [item];
    if (isLost(destination[0], index + 1)) return [];
    return [each ? stored(item, leadingTo(note, destination), store) : item];
  });
  storeItems(own, document.pages[index] ?? '', items, store);
}
if (!each) store(document.root, prunedCatalog());
const header = { jsonversion: 2, pushedinheritedpageresources: false, calledgetallpages: false, maxobjectid: last };
writeFileSync(update, JSON.stringify({ qpdf: [header, objects] }));

function prunedCatalog(): Dictionary {
  const { catalog, old, all, tree } = namePlaces(document);
  const pruned: Record<string, Value> = { ...catalog };

  const entries = remainingEntries(document, (page) => kept.has(page));
  if (entries !== undefined && entries.length > 0) pruned['/Outlines'] = writeOutlines(entries, next, store);
  if (entries?.length === 0) {
    delete pruned['/Outlines'];
    if (pruned['/PageMode'] === '/UseOutlines') delete pruned['/PageMode'];
  }

  const [opens] = document.read([catalog['/OpenAction']]);
  const [place] = resolveDestinations(document, [isDictionary(opens) && opens['/S'] === '/GoTo' ? opens['/D'] : opens]);
  if (isLost(place?.[0])) delete pruned['/OpenAction'];

  const named = isDictionary(old) ? Object.entries(old) : [];
  const remaining = named.filter(withPage(named));
  if (remaining.length < named.length) pruned['/Dests'] = Object.fromEntries(remaining);

  const pairs = pairsOf(document, tree);
  const left = pairs.filter(withPage(pairs));
  if (left.length < pairs.length && isDictionary(all)) {
    // One node for all: they are in their order.
    const names = { ...all, '/Dests': { '/Names': left.flat() } };
    if (isReference(catalog['/Names'])) store(catalog['/Names'], names);
    else pruned['/Names'] = names;
  }
  return pruned;
}

/** @returns a filter of destinations by name: those whose page stays, or that lead to none */
function withPage(pairs: readonly (readonly [name: string, value: Value])[]): (pair: unknown, index: number) => boolean {
  const destinations = resolveDestinations(
    document,
    pairs.map(([, value]) => value),
  );
  return (_, index) => !isLost(destinations[index]?.[0]);
}
