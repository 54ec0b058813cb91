/** A judge is asked twice about each file, once with the seed of another: what a decoder read the first time is remembered. */
import { stat } from 'node:fs/promises';

/** Pairs are judged three at a time, and a judge may read a file in three ways. */
const KEPT = 12;

/** @param read of a path; @returns the same, but a file that has not changed since is not read again, as long as few others were read meanwhile */
export function remembered<T, Rest extends readonly unknown[]>(
  read: (path: string, ...rest: Rest) => Promise<T>,
): (path: string, ...rest: Rest) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return async (path, ...rest) => {
    const there = await stat(path, { bigint: true });
    // What changes inside a folder does not show in the folder's own times.
    if (there.isDirectory()) return read(path, ...rest);
    const { ino, size, mtimeNs, ctimeNs } = there;
    const key = [path, ino, size, mtimeNs, ctimeNs, JSON.stringify(rest)].join('\n');
    const before = known.get(key);
    if (before !== undefined) return before;
    const now = read(path, ...rest);
    known.set(key, now);
    const [oldest] = known.keys();
    if (known.size > KEPT && oldest !== undefined) known.delete(oldest);
    return now;
  };
}
