/** Names of entries as they may be in an archive: relative, with slashes, leading nowhere but into its own folders, without what misleads, and each once. */
import { asFileOfWindows, baseName, cleanPart, foldName, inStreams, seenName, truncate } from '../../../catalog/names.ts';

/** Bytes: what Linux, macOS and Windows can have. */
const MAX_PATH = 4096;
const MAX_PART = 255;
/** Bytes of a part that is too long, or that a number follows. */
const CUT_PART = 240;

/** What was done to the names so far. */
interface NameChanges {
  /** Entries whose names mislead, or are invalid where the archive is unpacked. */
  changed: number;
  /** Files and folders whose name an earlier one had: they got a number. */
  apart: number;
  /** Those whose names differ from an earlier one only in capital letters. */
  alike: number;
  /** Files and folders, including those that only appear in the path of a file. */
  nodes: number;
}

export interface EntryNames {
  /** @returns '' for the top folder; undefined where the path would lead out of it, or is too long */
  take(path: string, isFolder?: boolean): string | undefined;
  readonly changes: Readonly<NameChanges>;
}

interface Folder {
  readonly id: number;
  /** Ends with a slash, except that of the top folder. */
  readonly path: string;
}

/**
 * @param forWindows whether the archive may be unpacked on Windows: then no name is one that Windows forbids, and no two differ only in capital
 * letters. Otherwise any name that Unix allows is kept.
 */
export function entryNames({ forWindows }: { readonly forWindows: boolean }): EntryNames {
  const changes = { changed: 0, apart: 0, alike: 0, nodes: 0 };
  /** Keys are the number of a folder, and a name in it. */
  const taken = new Set<string>();
  const folded = new Set<string>();
  /** The last number that was given, by what stands before and after it in the name: long names have the same beginning once they are cut. */
  const numbers = new Map<string, number>();
  /** By their names in the source. */
  const folders = new Map<string, Folder>();

  /** @returns the name of one more file or folder */
  function nameIn(parent: number, part: string, isFolder: boolean): string {
    changes.nodes++;
    const foldedKey = (name: string) => `${parent}/${foldName(name)}`;
    const keyOf = (name: string) => (forWindows ? foldedKey(name) : `${parent}/${name}`);
    let name = part;
    if (taken.has(keyOf(part))) {
      const base = isFolder ? part : baseName(part);
      const end = part.slice(base.length);
      const beginning = truncate(base, CUT_PART - end.length);
      const key = keyOf(`${beginning}/${end}`);
      let number = numbers.get(key) ?? 1;
      do name = `${beginning}-${++number}${end}`;
      while (taken.has(keyOf(name)));
      numbers.set(key, number);
      changes.apart++;
    }
    taken.add(keyOf(name));
    if (!forWindows) {
      if (folded.has(foldedKey(name))) changes.alike++;
      folded.add(foldedKey(name));
    }
    return name;
  }

  function folderIn(parent: Folder, part: string): Folder {
    const key = `${parent.id}/${part}`;
    const known = folders.get(key);
    if (known !== undefined) return known;
    const path = `${parent.path}${nameIn(parent.id, part, true)}/`;
    const added = { id: changes.nodes, path };
    folders.set(key, added);
    return added;
  }

  return {
    take(path, isFolder = false) {
      if (Buffer.byteLength(path) > MAX_PATH) return undefined;
      const seen = seenName(path, '_');
      const parts = partsOf(seen);
      if (parts.some(leadsUp)) return undefined;
      const clean = parts.map((part) => cut(forWindows ? cleanForWindows(part) : part));
      const [last] = clean.slice(-1);
      if (last === undefined) return '';
      if (seen !== path.normalize('NFC') || clean.some((part, at) => part !== parts[at])) changes.changed++;
      const within = (isFolder ? clean : clean.slice(0, -1)).reduce(folderIn, { id: 0, path: '' });
      return isFolder ? within.path.slice(0, -1) : `${within.path}${nameIn(within.id, last, false)}`;
    },
    changes,
  };
}

/** Without what makes it absolute. */
const partsOf = (path: string): string[] =>
  path
    .replace(/^(?:[A-Za-z]:(?=[\\/]|$)|[\\/])+/, '')
    // A drive without a folder after it.
    .replace(/^([A-Za-z]):/, '$1_')
    .split('/')
    .filter((part) => part !== '' && part !== '.');

/**
 * `..`, also between slashes and dots of other scripts, which some file systems take for ours; and `.. `, as Windows drops blanks at the end of
 * a name. Other names of dots are names on Unix, and are given another one for Windows.
 */
const leadsUp = (part: string): boolean =>
  inStreams(part)
    .normalize('NFKC')
    .split(/[\\/]/)
    .some((name) => name.trimEnd() === '..');

function cleanForWindows(part: string): string {
  const clean = cleanPart(part, '_');
  let end = clean.length;
  while (end > 0 && /[\s.]/.test(clean.charAt(end - 1))) end--;
  return asFileOfWindows(clean.slice(0, end) || '_');
}

function cut(part: string): string {
  if (Buffer.byteLength(part) <= MAX_PART) return part;
  const base = baseName(part);
  const end = part.slice(base.length);
  return `${truncate(base, CUT_PART - end.length)}${end}`;
}
