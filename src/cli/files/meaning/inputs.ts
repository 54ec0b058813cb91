/** The files that are meant: those that were named, and those in folders that were named. */
import { readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { formatByName } from '../../../catalog/formats.ts';
import { isWithin } from '../../../paths.ts';
import { decodeName, osPath } from './bytes.ts';

export interface FoundInput {
  /** As it was given, or below the folder that was given; `-` is standard input. */
  readonly path: string;
  /** Folders between the folder that was given and the file; empty for a file that was named. */
  readonly below: string;
  /** It was found in a folder: if it is of no use, that is no failure. */
  readonly isFound: boolean;
}

export interface Inputs {
  readonly inputs: readonly FoundInput[];
  /** Files in folders that were left out by their names. */
  readonly passedOver: number;
}

/**
 * Hidden files and folders are left out, links to folders are not followed.
 * @param isWanted by the format that a name in a folder tells
 * @param out folder of the results, in which no source is looked for
 */
export function findInputs(
  paths: readonly string[],
  {
    recursive,
    out,
    isWanted,
  }: { readonly recursive: boolean; readonly out: string | undefined; readonly isWanted: (format: string) => boolean },
): Inputs {
  const results = recursive && out !== undefined ? realPathOf(out) : undefined;
  const inputs: FoundInput[] = [];
  let passedOver = 0;
  const lookIn = (folder: string, below: string): void => {
    const entries = readdirSync(osPath(folder), { withFileTypes: true, encoding: 'buffer' });
    const named = entries.map((entry) => ({ entry, name: decodeName(entry.name) }));
    for (const { entry, name } of named.toSorted((a, b) => ORDER.compare(a.name, b.name))) {
      const path = join(folder, name);
      if (name.startsWith('.')) continue;
      if (entry.isDirectory()) {
        if (results === undefined || !isWithin(results, realPathOf(path) ?? path)) lookIn(path, join(below, name));
        continue;
      }
      const isFile = entry.isFile() || (entry.isSymbolicLink() && statOf(path)?.isFile() === true);
      const format = isFile ? formatByName(name.toLowerCase())?.id : undefined;
      if (format !== undefined && isWanted(format)) inputs.push({ path, below, isFound: true });
      else if (isFile) passedOver++;
    }
  };
  for (const path of paths) {
    if (recursive && path !== '-' && statOf(path)?.isDirectory() === true) lookIn(path, '');
    else inputs.push({ path, below: '', isFound: false });
  }
  return { inputs, passedOver };
}

/** Numbers in names count as numbers. */
const ORDER = new Intl.Collator('en', { numeric: true });

export const statOf = (path: string): Stats | undefined => statSync(osPath(path), { throwIfNoEntry: false });

function realPathOf(path: string): string | undefined {
  try {
    return decodeName(realpathSync(osPath(path), 'buffer'));
  } catch {
    return undefined;
  }
}
