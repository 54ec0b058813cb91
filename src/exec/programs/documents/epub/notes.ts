/**
 * Puts the notes of a book where Pandoc finds them: behind the text of the file that refers to them. It drops those of other files, and of lists, and
 * what refers to them. (EPUB 3 Structural Semantics Vocabulary, "noteref", "footnote")
 */
import { posix } from 'node:path';
import { beyond } from '../../data/values/value.ts';

const TAG = /<[^<>]*>/g;
const NAME = /^<\/?([\w:-]{1,60})/;
const ID = /\sid\s?=\s?["']([^"'<>]+)["']/;
const HREF = /\shref\s?=\s?["']([^"'<>]+)["']/;
const TYPE = /\sepub:type\s?=\s?["']([^"'<>]*)["']/;
/** What Pandoc drops where nothing refers to it. */
const NOTES = /\b(?:footnote|rearnote)\b(?!s)/;
const [MOST_NOTES, MOST_LEVELS] = [50_000, 1000];

interface Reference {
  readonly start: number;
  readonly tag: string;
  /** `path#id` of its note. */
  readonly note: string;
}
interface Place {
  readonly start: number;
  readonly end: number;
}
interface Edit extends Place {
  readonly text: string;
}

/** @param texts of the book by their paths @returns the texts that have changed */
export function notesMoved(texts: ReadonlyMap<string, string>): Map<string, string> {
  const references = new Map([...texts].map(([path, text]) => [path, referencesIn(path, text)]));
  const wanted = new Set([...references.values()].flatMap((found) => found.map(({ note }) => note)));
  if (wanted.size > MOST_NOTES) throw beyond('notes', MOST_NOTES, wanted.size);
  const moved = new Map<string, string>();
  if (wanted.size === 0) return moved;
  const notes = new Map<string, string>();
  const cuts = new Map<string, Place[]>();
  for (const [path, text] of texts) {
    const found = outermost(elementsIn(text, (id) => wanted.has(`${path}#${id}`)));
    for (const [id, { start, end }] of found) notes.set(`${path}#${id}`, contentOf(text.slice(start, end)));
    cuts.set(
      path,
      found.map(([, place]) => place),
    );
  }
  for (const [path, text] of texts) {
    const all = edited(text, references.get(path) ?? [], cuts.get(path) ?? [], notes);
    if (all !== text) moved.set(path, all);
  }
  return moved;
}

function referencesIn(path: string, text: string): Reference[] {
  const found: Reference[] = [];
  for (const { 0: tag, index } of text.matchAll(TAG)) {
    if (!/^<a\s/.test(tag) || !/\bnoteref\b/.test(TYPE.exec(tag)?.[1] ?? '')) continue;
    const [file = '', id = ''] = (HREF.exec(tag)?.[1] ?? '').split('#', 2);
    found.push({ start: index, tag, note: `${file === '' ? path : posix.join(posix.dirname(path), decoded(file))}#${id}` });
  }
  return found;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Where the elements with these ids begin and end. */
function elementsIn(text: string, isWanted: (id: string) => boolean): Map<string, Place> {
  const found = new Map<string, Place>();
  const open: { readonly name: string; readonly id: string | undefined; readonly start: number }[] = [];
  for (const { 0: tag, index } of text.matchAll(TAG)) {
    const name = NAME.exec(tag)?.[1];
    if (name === undefined || tag.endsWith('/>')) continue;
    if (!tag.startsWith('</')) {
      const id = ID.exec(tag)?.[1];
      if (open.push({ name, id: id !== undefined && isWanted(id) ? id : undefined, start: index }) > MOST_LEVELS)
        throw beyond('levels', MOST_LEVELS);
      continue;
    }
    const last = open.findLastIndex((element) => element.name === name);
    const [element] = last < 0 ? [] : open.splice(last);
    if (element?.id !== undefined && element.name !== 'a') found.set(element.id, { start: element.start, end: index + tag.length });
  }
  return found;
}

/** Without those in others, in the order of the text. */
function outermost(elements: ReadonlyMap<string, Place>): [string, Place][] {
  let done = 0;
  return [...elements]
    .toSorted(([, a], [, b]) => a.start - b.start)
    .filter(([, { start, end }]) => {
      if (start < done) return false;
      done = end;
      return true;
    });
}

/** The content of an element, without the types of elements in it: a reference in a note would be taken for one of the text. */
const contentOf = (element: string): string => withoutTypes(element.slice(element.indexOf('>') + 1, element.lastIndexOf('<')));
const withoutTypes = (text: string): string => text.replace(TAG, (tag) => tag.replace(TYPE, ''));

function edited(text: string, references: readonly Reference[], cuts: readonly Place[], notes: ReadonlyMap<string, string>): string {
  const edits: Edit[] = cuts.map((place) => ({ ...place, text: '' }));
  const used = new Map<string, number>();
  let cut = 0;
  for (const { start, tag, note } of references) {
    while (start >= (cuts[cut]?.end ?? Number.POSITIVE_INFINITY)) cut++;
    if (start >= (cuts[cut]?.start ?? Number.POSITIVE_INFINITY)) continue;
    const known = notes.has(note);
    if (known && !used.has(note)) used.set(note, used.size);
    const now = known ? tag.replace(HREF, () => ` href="#filemill-note-${used.get(note)}"`) : tag.replace(TYPE, '');
    edits.push({ start, end: start + tag.length, text: now });
  }
  const pieces: string[] = [];
  let done = 0;
  for (const { start, end, text: now } of edits.toSorted((a, b) => a.start - b.start)) {
    pieces.push(text.slice(done, start).replace(TAG, unreferred), now);
    done = end;
  }
  const rest = text.slice(done).replace(TAG, unreferred);
  const at = rest.lastIndexOf('</body');
  const behind = [...used.keys()].map(
    (note, place) => `<aside epub:type="footnote" id="filemill-note-${place}">${notes.get(note)}</aside>`,
  );
  return at < 0 ? [...pieces, rest].join('') : [...pieces, rest.slice(0, at), ...behind, rest.slice(at)].join('');
}

/** A note to which nothing refers stays where it is. */
const unreferred = (tag: string): string => (NOTES.test(TYPE.exec(tag)?.[1] ?? '') ? tag.replace(TYPE, '') : tag);
