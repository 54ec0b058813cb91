/** Names of results that a template makes: `--name '{name}-{n}'`. */
import { UsageError } from '../converter.ts';

export interface Named {
  /** The source's name without its extension, and its extension. */
  readonly name: string;
  readonly from: string;
  /** The source's folder, without those above it. */
  readonly folder: string;
  /** Extension of the result. */
  readonly ext: string;
  /** Its place among the sources, from 1 on, with as many digits as the last one needs. */
  readonly n: string;
}

const PLACES: readonly string[] = ['name', 'ext', 'from', 'folder', 'n'] satisfies (keyof Named)[];

/** @throws UsageError */
export function checkTemplate(template: string): string {
  const unknown = [...template.matchAll(/\{([^{}]*)\}/g)].map(([, place = '']) => place).find((place) => !PLACES.includes(place));
  if (unknown !== undefined) throw new UsageError(`--name has no {${unknown}}; it has {${PLACES.join('}, {')}}`);
  if (template.includes('/') || template.includes('\0'))
    throw new UsageError('--name makes the name of a file, without "/": --out names its folder');
  if (template.replace(/\{ext\}|\./g, '').trim() === '') throw new UsageError('--name is empty; expected a name such as "{name}-small"');
  return template;
}

/** @returns with the extension of the result at its end */
export function nameBy(template: string, named: Named): string {
  const name = template.replace(/\{(name|ext|from|folder|n)\}/g, (_, place: keyof Named) => named[place].replaceAll('/', ''));
  return name.toLowerCase().endsWith(`.${named.ext}`) ? name : `${name}.${named.ext}`;
}
