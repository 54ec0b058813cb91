/** What the bundle of the commands on files was made of, as `scripts/build-command` lists it: each path, and when it was last changed, ms. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export type Sources = readonly (readonly [path: string, mtimeMs: number])[];
export const LIST = 'sources.json';

/** @param bundle its folder @param checkout what the paths are relative to */
export function isCurrent(bundle: string, checkout: string): boolean {
  const sources = JSON.parse(readFileSync(join(bundle, LIST), 'utf8')) as Sources;
  // Hundreds of paths: `join` takes longer than the system's answer.
  return sources.every(([path, mtimeMs]) => statSync(`${checkout}/${path}`, { throwIfNoEntry: false })?.mtimeMs === mtimeMs);
}
