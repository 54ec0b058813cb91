/** The order in which the pages of a comic book are read. */

interface Named {
  readonly name: string;
}

/** Longer names are compared up to here, characters: numbers of any length take time to compare. */
const COMPARED = 500;
/** What macOS and file managers add. */
const ADDED = /(?:^|\/)(?:\.|__MACOSX\/)/;

/** By names, with numbers by their value, as comic book readers do. Folders and hidden files are left out. */
export function inOrderOfReading<T extends Named>(entries: Iterable<T>): readonly T[] {
  const { compare } = new Intl.Collator('en', { numeric: true });
  return [...entries]
    .filter(({ name }) => !name.endsWith('/') && !ADDED.test(name))
    .map((entry) => ({ entry, key: entry.name.slice(0, COMPARED) }))
    .toSorted((a, b) => compare(a.key, b.key))
    .map(({ entry }) => entry);
}
