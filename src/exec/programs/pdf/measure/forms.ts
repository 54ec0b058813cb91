/**
 * How much the pages of a PDF draw by forms (form XObjects): each may draw others, many times each, so that ten forms are drawn 10⁹ times.
 * Nothing is drawn to count that: a form's sum is that of its content, once for all its uses.
 */
import { readFileSync } from 'node:fs';
import type { Content } from './objects.ts';

export interface Drawn {
  /** How often forms are drawn, on all pages together. */
  readonly forms: number;
  /** Bytes of content that are interpreted for that. */
  readonly bytes: number;
  /** Strings that one page shows, at most: blank ones too. */
  readonly strings: number;
}

/** Deeper ones count no further: Poppler and Ghostscript stop far above. */
const MOST_DEPTH = 100;
/** Sums go no further. */
const MOST = 1e15;
/** Size of one content, bytes; the rest is not looked at. */
const MOST_CONTENT = 64 << 20;
/** ISO 32000-1, 8.8: the operator that draws an external object. */
const DRAW = /\/([^\s/<>()[\]{}%]{1,127})\s{1,16}Do\b/g;

/** @param contents of pages and forms by name, `12 0 R` @param pages the names of the contents of each page @param pathOf decoded content */
export function drawnBy(
  contents: ReadonlyMap<string, Content>,
  pages: readonly (readonly string[])[],
  pathOf: (object: number) => string,
): Drawn {
  const known = new Map<string, Drawn>();
  const drawn = (name: string, depth: number): Drawn => {
    const content = contents.get(name);
    const found = known.get(name);
    if (found !== undefined || content === undefined || depth > MOST_DEPTH) return found ?? NOTHING;
    // A form that draws itself is not drawn.
    known.set(name, NOTHING);
    const all = readFileSync(pathOf(content.object));
    const bytes = all.subarray(0, MOST_CONTENT);
    const sum = { forms: 0, bytes: bytes.length, strings: stringsIn(all) };
    for (const [resource, times] of usesIn(bytes.toString('latin1'))) {
      const form = content.forms.get(resource);
      if (form === undefined || !contents.has(form)) continue;
      const once = drawn(form, depth + 1);
      sum.forms = Math.min(sum.forms + times * (once.forms + 1), MOST);
      sum.bytes = Math.min(sum.bytes + times * once.bytes, MOST);
      sum.strings = Math.min(sum.strings + times * once.strings, MOST);
    }
    known.set(name, sum);
    return sum;
  };
  const all = pages.map((page) => page.map((name) => drawn(name, 0)).reduce(plus, NOTHING));
  return { ...all.reduce(plus, NOTHING), strings: all.reduce((most, { strings }) => Math.max(most, strings), 0) };
}

const NOTHING: Drawn = { forms: 0, bytes: 0, strings: 0 };
const plus = (one: Drawn, other: Drawn): Drawn => ({
  forms: one.forms + other.forms,
  bytes: one.bytes + other.bytes,
  strings: one.strings + other.strings,
});

const [LITERAL, HEXADECIMAL] = [0x28, 0x3c];

/** Each begins with one of two characters (ISO 32000-1, 7.3.4): those that stand in another string, a dictionary or a picture count as well, so that none is missed. */
function stringsIn(content: Buffer): number {
  let count = 0;
  for (const byte of content) if (byte === LITERAL || byte === HEXADECIMAL) count++;
  return count;
}

/** How often each resource is drawn. Text that looks like it counts as well. */
function usesIn(content: string): ReadonlyMap<string, number> {
  const uses = new Map<string, number>();
  for (const [, name = ''] of content.matchAll(DRAW)) uses.set(name, (uses.get(name) ?? 0) + 1);
  return uses;
}
