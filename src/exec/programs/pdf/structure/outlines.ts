/** Outlines of PDFs: joined, with each entry pointing to its page in the joined document, or without what has lost its page. (ISO 32000-1, 12.3.3) */
import { type Dictionary, isDictionary, isReference, type JsonObjects, listOf, type PdfDocument, refers, type Value } from './document.ts';

export interface OutlineEntry {
  readonly values: Dictionary;
  readonly open: boolean;
  readonly kids: readonly OutlineEntry[];
}

/** Kept from each entry besides its position and target: title, colour and style. */
const KEPT = ['/Title', '/C', '/F'] as const;

/** @param places references of this document's pages in the joined document */
export function entriesOf(source: PdfDocument, places: readonly string[]): readonly OutlineEntry[] {
  const own = storedIn(source);
  return source.outlines.map((entry) => moved(entry, places, own));
}

/** The dictionary of each entry, by its reference. */
function storedIn(source: PdfDocument): ReadonlyMap<Value, Value | undefined> {
  const listed = flat(source.outlines).filter(({ object }) => isReference(object));
  const stored = source.read(listed.map(({ object }) => object));
  return new Map(listed.map(({ object }, index) => [object, stored[index]]));
}

const flat = (level: readonly JsonObjects[]): readonly JsonObjects[] => level.flatMap((entry) => [entry, ...flat(entry.kids)]);

function moved(entry: JsonObjects, places: readonly string[], own: ReadonlyMap<Value, Value | undefined>): OutlineEntry {
  const found = own.get(entry.object);
  const stored = isDictionary(found) ? found : {};
  const kept = Object.fromEntries(
    KEPT.flatMap((key) => {
      const value = stored[key];
      return value === undefined || refers(value) ? [] : [[key, value]];
    }),
  );
  return {
    values: { '/Title': `u:${entry.title}`, ...kept, ...target(entry, places, stored['/A']) },
    open: entry.open,
    kids: entry.kids.map((kid) => moved(kid, places, own)),
  };
}

/** The target: a page, or an action that leads out of the file. */
function target({ dest, destpageposfrom1: page }: JsonObjects, places: readonly string[], action: Value | undefined): Dictionary {
  const place = page === null ? undefined : places[page - 1];
  if (place !== undefined) return { '/Dest': [place, ...(Array.isArray(dest) ? listOf(dest).slice(1) : ['/Fit'])] };
  return dest === null && action !== undefined && !refers(action) ? { '/A': action } : {};
}

/**
 * The entries of the same document without some of its pages. One whose page is left out leads where the first entry below it leads, and goes
 * with the last of them; so does one that leads nowhere, as a heading of what is below it.
 * @param stays whether the document still has the page, counted from 1
 * @returns undefined if it still has the page of every entry
 */
export function remainingEntries(source: PdfDocument, stays: (page: number) => boolean): readonly OutlineEntry[] | undefined {
  const isLost = ({ destpageposfrom1: page }: JsonObjects): boolean => page !== null && !stays(page);
  if (!flat(source.outlines).some(isLost)) return undefined;
  const own = storedIn(source);
  const remaining = (entry: JsonObjects): readonly OutlineEntry[] => {
    const found = own.get(entry.object);
    const { '/Parent': _, '/Prev': _1, '/Next': _2, '/First': _3, '/Last': _4, '/Count': _5, ...values } = isDictionary(found) ? found : {};
    const kids = entry.kids.flatMap(remaining);
    const { '/Dest': dest, '/A': action, '/SE': element, ...title } = values;
    const lost = isLost(entry);
    const leadsNowhere = dest === undefined && action === undefined && entry.kids.length > 0;
    if (kids.length === 0 && (lost || leadsNowhere)) return [];
    const [first] = kids;
    return [{ values: lost && first !== undefined ? { ...title, ...targetIn(first.values) } : values, open: entry.open, kids }];
  };
  return source.outlines.flatMap(remaining);
}

const targetIn = ({ '/Dest': dest, '/A': action }: Dictionary): Dictionary => ({
  ...(dest === undefined ? {} : { '/Dest': dest }),
  ...(action === undefined ? {} : { '/A': action }),
});

/** @param add stores a new object @param next returns an unused reference @returns the reference of the outline */
export function writeOutlines(
  entries: readonly OutlineEntry[],
  next: () => string,
  add: (reference: string, value: Value) => void,
): string {
  const writeLevel = (level: readonly OutlineEntry[], parent: string): { first: string; final: string } => {
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

/** The number of lines that a viewer shows. */
function visible(level: readonly OutlineEntry[]): number {
  return level.reduce((sum, { open, kids }) => sum + 1 + (open ? visible(kids) : 0), 0);
}
