/** The pictures inside a document, by the names that Pandoc gives them: those of an office package or an EPUB, and those of a FictionBook. */
import { inflateRawSync } from 'node:zlib';
import { lossy } from '../values/answer.ts';
import { STORED, zipEntries } from '../zip.ts';

/** Of all pictures together, each as often as it is shown: the tree holds them as text, and Pandoc the tree several times, bytes. */
const MOST_BYTES = 24 * 1024 * 1024;

export interface Pictures {
  /** A picture as a `data:` URL; undefined where there is none, or none that every writer takes. */
  readonly inline: (name: string) => string | undefined;
  readonly warnings: () => ReturnType<typeof lossy>;
}

export const NO_PICTURES: Pictures = { inline: () => undefined, warnings: () => [] };

/** By their first bytes: what a name says is nobody's promise. */
const KINDS: readonly (readonly [string, string])[] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF8'],
];

export function picturesIn(document: Buffer): Pictures {
  const find = document.toString('latin1', 0, 2) === 'PK' ? inPackage(document) : inFictionBook(document);
  const urls = new Map<string, string | undefined>();
  let [left, others, tooLarge] = [MOST_BYTES, 0, 0];
  return {
    inline(name) {
      // A picture of the web stays where it is.
      if (/^[a-z][a-z\d+.-]*:/i.test(name)) return undefined;
      const known = urls.has(name) ? urls.get(name) : urlOf(find(name, MOST_BYTES));
      urls.set(name, known);
      if (known === undefined) others++;
      else if (known.length > left) tooLarge++;
      else {
        left -= known.length;
        return known;
      }
      return undefined;
    },
    warnings: () =>
      lossy([
        ...(others === 0 ? [] : [`Pictures that are not PNG, JPEG or GIF are left out: ${others}.`]),
        ...(tooLarge === 0 ? [] : [`Pictures beyond ${MOST_BYTES / 1024 ** 2} MiB in all are left out: ${tooLarge}.`]),
      ]),
  };
}

function urlOf(bytes: Buffer | undefined): string | undefined {
  const kind = KINDS.find(([, beginning]) => bytes?.toString('latin1', 0, beginning.length) === beginning);
  return bytes === undefined || kind === undefined ? undefined : `data:${kind[0]};base64,${bytes.toString('base64')}`;
}

type Find = (name: string, most: number) => Buffer | undefined;

/** Names are relative to the main part, which lies in `word/` or in a book's own folder: the shortest path that ends so. */
function inPackage(document: Buffer): Find {
  const entries = [...zipEntries(document)];
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const byEnd = new Map<string, (typeof entries)[number]>();
  for (const entry of entries.toSorted((one, other) => one.name.length - other.name.length)) {
    const base = entry.name.slice(entry.name.lastIndexOf('/') + 1);
    if (!byEnd.has(base)) byEnd.set(base, entry);
  }
  return (name, most) => {
    const plain = name.replace(/^(?:\.{1,2}\/){1,16}/, '');
    const entry = byName.get(plain) ?? byName.get(`word/${plain}`) ?? byEnd.get(plain.slice(plain.lastIndexOf('/') + 1));
    if (entry === undefined) return undefined;
    try {
      return entry.method === STORED ? entry.raw : inflateRawSync(entry.raw, { maxOutputLength: most });
    } catch {
      // Damaged, or larger than all pictures may be.
      return undefined;
    }
  };
}

/** `<binary id="…">` elements of base64 (FictionBook 2.1). */
function inFictionBook(document: Buffer): Find {
  const places = new Map<string, readonly [number, number]>();
  const text = document.toString('latin1');
  for (let at = text.indexOf('<binary'); at >= 0; at = text.indexOf('<binary', at + 1)) {
    const open = text.indexOf('>', at);
    const end = text.indexOf('</binary', open);
    if (open < 0 || end < 0) break;
    const id = /\bid="([^"]{1,200})"/.exec(text.slice(at, Math.min(open, at + 1000)))?.[1];
    if (id !== undefined) places.set(id, [open + 1, end]);
    at = end;
  }
  return (name) => {
    const place = places.get(name.replace(/^#/, ''));
    return place === undefined ? undefined : Buffer.from(text.slice(...place), 'base64');
  };
}
