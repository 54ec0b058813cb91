/** Checks a JSON text without building its values: finds the first syntax error (RFC 8259), duplicate keys, and `NaN` and infinities, which JSON does not have. */
import { beyond, MOST_LEVELS } from './value.ts';

export interface JsonScan {
  /** Offset of the first syntax error, if there is one. */
  readonly errorAt: number | undefined;
  /** Offset behind the first value: what follows is not checked. */
  readonly end: number;
  /** Offsets of keys that the same object has before. */
  readonly duplicates: readonly number[];
  /** `NaN`, `Infinity` and `-Infinity`, as Python and others write them. */
  readonly bare: readonly { readonly at: number; readonly token: string }[];
}

interface Level {
  /** The object's keys so far; undefined in a list. */
  readonly keys: Set<string> | undefined;
  count: number;
}

const SPACE = /[ \t\n\r]*/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const BARE = /NaN|-?Infinity/y;
const PART_OF_STRING = /[^"\\\u0000-\u001f]+|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}/y;

/** Bound of `bare`, which takes memory. */
const MOST_BARE = 1_000_000;

/** @param mostDuplicates how many duplicate keys are reported at most @throws FileRefused where it is too deep, or has too many such numbers */
export function scanJson(text: string, mostDuplicates = 8): JsonScan {
  const duplicates: number[] = [];
  const bare: { at: number; token: string }[] = [];
  const levels: Level[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  const isNext = (character: string): boolean => {
    take(SPACE);
    if (text[at] !== character) return false;
    at++;
    return true;
  };
  const takeString = (): boolean => {
    if (!isNext('"')) return false;
    while (take(PART_OF_STRING) !== undefined);
    return isNextHere('"');
  };
  const isNextHere = (character: string): boolean => {
    if (text[at] !== character) return false;
    at++;
    return true;
  };
  const takeKey = (keys: Set<string>): boolean => {
    take(SPACE);
    const start = at;
    if (!takeString()) return false;
    const key = keyIn(text.slice(start, at));
    if (keys.has(key) && duplicates.length < mostDuplicates) duplicates.push(start);
    keys.add(key);
    return isNext(':');
  };
  const open = (keys: Level['keys']): void => {
    // The outermost value is on level 0.
    if (levels.length > MOST_LEVELS) throw beyond('levels', MOST_LEVELS);
    levels.push({ keys, count: 0 });
  };
  /** @returns whether a value has begun or been read */
  const takeValue = (): boolean => {
    take(SPACE);
    if (isNextHere('{')) open(new Set());
    else if (isNextHere('[')) open(undefined);
    else if (text[at] === '"') return takeString();
    else if (take(SCALAR) === undefined) {
      const start = at;
      const token = take(BARE);
      if (token === undefined) return false;
      if (bare.length >= MOST_BARE) throw beyond('numbers that JSON does not have', MOST_BARE);
      bare.push({ at: start, token });
    }
    return true;
  };

  const ended = (errorAt?: number): JsonScan => ({ errorAt, end: at, duplicates, bare });
  if (!takeValue()) return ended(at);
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    if (isNext(level.keys === undefined ? ']' : '}')) levels.pop();
    else if (level.count++ > 0 && !isNext(',')) return ended(at);
    else if (level.keys !== undefined && !takeKey(level.keys)) return ended(at);
    else if (!takeValue()) return ended(at);
  }
  return ended();
}

/** @param written with its quotes @returns what it says: one key may be escaped in many ways */
const keyIn = (written: string): string => (written.includes('\\') ? (JSON.parse(written) as string) : written.slice(1, -1));

/** @returns line and column, both counted from 1 */
export function placeOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  let [line, start] = [1, 0];
  for (let next = text.indexOf('\n'); next >= 0 && next < offset; next = text.indexOf('\n', next + 1)) [line, start] = [line + 1, next + 1];
  return { line, column: offset - start + 1 };
}
