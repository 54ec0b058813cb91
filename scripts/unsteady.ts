/** Test files that failed beside others and passed alone: which, and when. `test/unsteady.txt` remembers them, and is committed. */
import { appendFileSync, readFileSync } from 'node:fs';

const LIST = 'test/unsteady.txt';
const WEEK_MS = 7 * 24 * 60 * 60_000;

/** One line of the list: a day (UTC) and a file, from the top of the checkout. */
export interface Unsteady {
  readonly day: string;
  readonly file: string;
}

export const parseUnsteady = (text: string): readonly Unsteady[] =>
  text.split('\n').flatMap((line) => {
    const [, day = '', file = ''] = /^(\d{4}-\d{2}-\d{2}) (\S+)$/.exec(line) ?? [];
    return day === '' ? [] : [{ day, file }];
  });

/** @returns a sentence for each file that had to be run again twice or more in the week before `now` */
export function tooOften(list: readonly Unsteady[], now: Date): readonly string[] {
  const recent = list.filter(({ day }) => now.getTime() - Date.parse(day) < WEEK_MS);
  return [...Map.groupBy(recent, ({ file }) => file)]
    .filter(([, lines]) => lines.length > 1)
    .map(([file, lines]) => `${file} had to be run again ${lines.length} times in a week: fix it, and take its lines out of ${LIST}`);
}

/** Adds files to the list. @returns the whole list */
export function record(files: readonly string[], now: Date): readonly Unsteady[] {
  const day = now.toISOString().slice(0, 10);
  if (files.length > 0) appendFileSync(LIST, files.map((file) => `${day} ${file}\n`).join(''));
  return parseUnsteady(readFileSync(LIST, 'utf8'));
}
