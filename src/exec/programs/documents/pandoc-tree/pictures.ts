/** The pictures inside a document, by the names that Pandoc gives them: those of an office package or an EPUB, and those of a FictionBook. */
import { inflateRawSync } from 'node:zlib';
import { STORED, type ZipEntry, zipEntries } from '../../archives/zip.ts';
import { lossy } from '../../process/answer.ts';

/** Size of all pictures together, each counted as often as it is shown: the tree holds them as text, and Pandoc the tree several times, bytes. */
const MOST_BYTES = 24 * 1024 * 1024;

/** Each that turns out too large was unpacked up to there. */
const MOST_TRIES = 20;

export interface Pictures {
  /** A picture as a `data:` URL; undefined where there is none, or none that every writer takes. */
  readonly inline: (name: string) => string | undefined;
  readonly warnings: () => ReturnType<typeof lossy>;
}

export const NO_PICTURES: Pictures = { inline: () => undefined, warnings: () => [] };

/** By their first bytes: a name may say something else. */
const KINDS: readonly (readonly [string, string])[] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF8'],
];

/** @returns the bytes of a picture, at most so many */
type Find = (name: string, most: number) => Buffer | 'absent' | 'too large';

export function picturesIn(document: Buffer): Pictures {
  const find = document.toString('latin1', 0, 2) === 'PK' ? inPackage(document) : inFictionBook(document);
  const shown = new Map<string, { readonly url: string; readonly bytes: number }>();
  let [left, others, tooLarge] = [MOST_BYTES, 0, 0];
  return {
    inline(name) {
      // A picture of the web stays where it is.
      if (/^[a-z][a-z\d+.-]*:/i.test(name)) return undefined;
      const known = shown.get(name);
      const found = known ?? (tooLarge < MOST_TRIES ? asUrl(find(name, left)) : 'too large');
      if (found === 'absent') others++;
      else if (found === 'too large' || found.bytes > left) tooLarge++;
      else {
        left -= found.bytes;
        shown.set(name, found);
        return found.url;
      }
      return undefined;
    },
    warnings: () =>
      lossy([
        ...(others === 0 ? [] : [`Pictures that are missing, or are not PNG, JPEG or GIF, are left out: ${others}.`]),
        ...(tooLarge === 0 ? [] : [`Pictures beyond ${MOST_BYTES / 1024 ** 2} MiB in all are left out: ${tooLarge}.`]),
      ]),
  };
}

function asUrl(found: ReturnType<Find>) {
  if (typeof found === 'string') return found;
  const kind = KINDS.find(([, beginning]) => found.toString('latin1', 0, beginning.length) === beginning);
  return kind === undefined ? 'absent' : { url: `data:${kind[0]};base64,${found.toString('base64')}`, bytes: found.length };
}

/** Folders of a path that are looked at from its end. */
const DEEPEST = 8;

/** Names are relative to the main part, which lies in `word/` or in a book's own folder: the shortest path that ends so. A bare name counts where only one part has it. */
function inPackage(document: Buffer): Find {
  const byEnd = new Map<string, ZipEntry | 'several'>();
  for (const entry of [...zipEntries(document)].toSorted((one, other) => one.name.length - other.name.length)) {
    const folders = entry.name.split('/');
    for (let from = Math.max(0, folders.length - DEEPEST); from < folders.length; from++) {
      const end = folders.slice(from).join('/');
      const isBare = from === folders.length - 1 && from > 0;
      if (!byEnd.has(end)) byEnd.set(end, entry);
      else if (isBare) byEnd.set(end, 'several');
    }
  }
  return (name, most) => {
    const plain = decoded(name).replace(/^(?:\.{1,2}\/){1,16}/, '');
    const entry = byEnd.get(plain) ?? byEnd.get(plain.slice(plain.lastIndexOf('/') + 1));
    if (entry === undefined || entry === 'several') return 'absent';
    if (entry.method === STORED) return entry.raw.length > most ? 'too large' : entry.raw;
    try {
      return inflateRawSync(entry.raw, { maxOutputLength: Math.max(1, most) });
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'too large' : 'absent';
    }
  };
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** `<binary id="…">` elements of base64 (FictionBook 2.1). */
function inFictionBook(document: Buffer): Find {
  const places = new Map<string, readonly [number, number]>();
  const text = document.toString('latin1');
  for (let at = text.indexOf('<binary'); at >= 0; at = text.indexOf('<binary', at + 1)) {
    const open = text.indexOf('>', at);
    const end = text.indexOf('</binary', open);
    if (open < 0 || end < 0) break;
    const id = /\bid\s{0,9}=\s{0,9}(["'])([^"']{1,200})\1/.exec(text.slice(at, Math.min(open, at + 1000)))?.[2];
    if (id !== undefined) places.set(id, [open + 1, end]);
    at = end;
  }
  return (name, most) => {
    const [from, to] = places.get(name.replace(/^#/, '')) ?? [0, 0];
    if (to === 0) return 'absent';
    return (to - from) * 0.75 > most * 1.1 ? 'too large' : Buffer.from(text.slice(from, to), 'base64');
  };
}
