/** The outlines of several PDFs, one after the other, each entry pointing at its page's new place. (ISO 32000-1, 12.3.3) */
import { type Dictionary, type Document, isDictionary, isReference, type JsonObjects, listOf, refers, type Value } from './document.ts';

export interface Entry {
  readonly values: Dictionary;
  readonly open: boolean;
  readonly kids: readonly Entry[];
}

/** Beside its place in the tree and its target: title, colour and style. */
const KEPT = ['/Title', '/C', '/F'] as const;

/** @param places references of this document's pages in the joined one */
export function entriesOf(source: Document, places: readonly string[]): readonly Entry[] {
  const told = flat(source.outlines).filter(({ object }) => isReference(object));
  const stored = source.read(told.map(({ object }) => object));
  const own = new Map(told.map(({ object }, index) => [object, stored[index]]));
  return source.outlines.map((entry) => moved(entry, places, own));
}

const flat = (level: readonly JsonObjects[]): readonly JsonObjects[] => level.flatMap((told) => [told, ...flat(told.kids)]);

function moved(told: JsonObjects, places: readonly string[], own: ReadonlyMap<Value, Value | undefined>): Entry {
  const found = own.get(told.object);
  const stored = isDictionary(found) ? found : {};
  const kept = Object.fromEntries(
    KEPT.flatMap((key) => {
      const value = stored[key];
      return value === undefined || refers(value) ? [] : [[key, value]];
    }),
  );
  return {
    values: { '/Title': `u:${told.title}`, ...kept, ...target(told, places, stored['/A']) },
    open: told.open,
    kids: told.kids.map((kid) => moved(kid, places, own)),
  };
}

/** A page, or an action that leads out of the file. */
function target({ dest, destpageposfrom1: page }: JsonObjects, places: readonly string[], action: Value | undefined): Dictionary {
  const place = page === null ? undefined : places[page - 1];
  if (place !== undefined) return { '/Dest': [place, ...(Array.isArray(dest) ? listOf(dest).slice(1) : ['/Fit'])] };
  return dest === null && action !== undefined && !refers(action) ? { '/A': action } : {};
}

/** @param add stores an object of its own @param next gives the reference of one that is still to be stored @returns the outline's */
export function writeOutlines(entries: readonly Entry[], next: () => string, add: (reference: string, value: Value) => void): string {
  const writeLevel = (level: readonly Entry[], parent: string): { first: string; final: string } => {
    const references = level.map(next);
    for (const [index, { values, open, kids }] of level.entries()) {
      const own = references[index] ?? '';
      const [previous, following] = [references[index - 1], references[index + 1]];
      const below = kids.length === 0 ? undefined : writeLevel(kids, own);
      add(own, {
        ...values,
        '/Parent': parent,
        ...(previous === undefined ? {} : { '/Prev': previous }),
        ...(following === undefined ? {} : { '/Next': following }),
        ...(below === undefined ? {} : { '/First': below.first, '/Last': below.final, '/Count': open ? visible(kids) : -visible(kids) }),
      });
    }
    return { first: references[0] ?? '', final: references.at(-1) ?? '' };
  };
  const reference = next();
  const { first, final } = writeLevel(entries, reference);
  add(reference, { '/Type': '/Outlines', '/First': first, '/Last': final, '/Count': visible(entries) });
  return reference;
}

/** How many lines a reader shows of them. */
function visible(level: readonly Entry[]): number {
  return level.reduce((sum, { open, kids }) => sum + 1 + (open ? visible(kids) : 0), 0);
}
