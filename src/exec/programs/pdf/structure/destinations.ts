/** Where destinations lead, those with a name too. (ISO 32000-1, 12.3.2) */
import { type Dictionary, isDictionary, listOf, type PdfDocument, type Value } from './document.ts';

/** A page, and how it is shown. */
export type PageView = readonly Value[];

/** @returns each destination, or undefined where it leads nowhere. A fixed number of reads of the file, beside those of its names. */
export function resolveDestinations(document: PdfDocument, given: readonly (Value | undefined)[]): readonly (PageView | undefined)[] {
  const stated = document.read(given);
  const names = stated.some((value) => typeof value === 'string') ? namesOf(document) : new Map<string, Value>();
  const named = document.read(stated.map((value) => (typeof value === 'string' ? names.get(value) : value)));
  const found = document.read(named.map((value) => (isDictionary(value) ? value['/D'] : value)));
  return found.map((value) => (Array.isArray(value) && value.length > 0 ? (value as PageView) : undefined));
}

/** Destinations by name: from the older dictionary of names, and from the name tree, in its order. */
export function namesOf(document: PdfDocument): ReadonlyMap<string, Value> {
  const { old, tree } = namePlaces(document);
  const names = new Map<string, Value>(isDictionary(old) ? Object.entries(old) : []);
  for (const [name, value] of pairsOf(document, tree)) names.set(name, value);
  return names;
}

/** Both places in which a document keeps names of destinations, and what the second one is part of. */
export function namePlaces(document: PdfDocument) {
  const root = document.readOne(document.root);
  const catalog = isDictionary(root) ? root : {};
  const [old, all] = document.read([catalog['/Dests'], catalog['/Names']]);
  return { catalog, old, all, tree: document.readOne(isDictionary(all) ? all['/Dests'] : undefined) };
}

/** Each level of a name tree is one more look at the file: those of a million names have three. */
const MOST_LEVELS = 32;

/** Names and values of a name tree, level by level; what lies deeper is left out. (ISO 32000-1, 7.9.6) */
export function pairsOf(document: PdfDocument, tree: Value | undefined): readonly (readonly [name: string, value: Value])[] {
  const pairs: [string, Value][] = [];
  const seen = new Set<Value>();
  let level: readonly (Value | undefined)[] = [tree];
  for (let depth = 0; depth < MOST_LEVELS && level.length > 0; depth++) {
    const nodes = level.filter((node): node is Dictionary => isDictionary(node) && !seen.has(node));
    for (const node of nodes) seen.add(node);
    for (const names of document.read(nodes.map((node) => node['/Names'])).map(listOf))
      for (let index = 0; index + 1 < names.length; index += 2) pairs.push([String(names[index]), names[index + 1] ?? null]);
    level = document.read(document.read(nodes.map((node) => node['/Kids'])).flatMap(listOf));
  }
  return pairs;
}
