/** Compares paths by their parts. As texts, `/home/me/.git` begins `/home/me/.git-credentials`. */

/**
 * Names alone are compared: what a symbolic link leads to is asked before, by realpath.
 * @param folder absolute, or relative to the same folder as `path`; both of files, or both of URLs
 * @returns the parts of `path` below `folder`, none where both are one; undefined where it lies elsewhere, or has a part `..`, which may lead anywhere
 */
export function partsBelow(folder: string, path: string): readonly string[] | undefined {
  if (folder.startsWith('/') !== path.startsWith('/')) return undefined;
  const [outer, inner] = [partsOf(folder), partsOf(path)];
  if (outer.includes('..') || inner.includes('..')) return undefined;
  return outer.every((part, at) => inner[at] === part) ? inner.slice(outer.length) : undefined;
}

/** Whether `path` is the folder or lies below it; as `partsBelow`. */
export const isWithin = (folder: string, path: string): boolean => partsBelow(folder, path) !== undefined;

const partsOf = (path: string): readonly string[] => path.split('/').filter((part) => part !== '' && part !== '.');
