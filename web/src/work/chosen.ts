/** What is chosen on the start page for the files that wait there: a target for each, and options for all. They stay while another view is open. */
import { signal } from '@preact/signals';
import { loadFormats, type Source, sourceOf, usualTargets } from '../api/catalog.ts';
import { type Choice, lastChoice, rememberChoice } from './choices.ts';
import { add, list, remove } from './list.ts';
import { pieceOf, type Task, taskOf } from './tasks.ts';

export const values = signal<Readonly<Record<string, string>>>({});
export const isOpened = signal(false);
const preferred = signal<string | undefined>(undefined);
/** What the address asks for, while its view is open. */
const asked = signal<Choice | undefined>(undefined);

/** Those that wait to be converted. */
export const openTasks = (): readonly Task[] => list.value.filter(({ tool, state }) => tool === undefined && state.value.at === 'ready');

const sourceOfTask = (task: Task): Source | undefined => sourceOf(task.pieces.value[0]?.name ?? '');
export const targetsOf = (task: Task): readonly string[] => sourceOfTask(task)?.targets.map(({ format }) => format) ?? [];
/** Kinds of files that a choice is remembered for. */
const kindOf = (task: Task): string => sourceOfTask(task)?.family ?? 'other';

function targetFor(source: Source | undefined): string {
  if (source === undefined) return 'pdf';
  const wanted = [preferred.value, asked.value?.target, lastChoice(source.family)?.target].find((each) =>
    source.targets.some(({ format }) => format === each),
  );
  return wanted ?? usualTargets(source)[0] ?? source.targets[0]?.format ?? 'pdf';
}

/** @param given files, or addresses */
export async function choose(given: readonly (File | string)[]): Promise<void> {
  // What a file can become is known soon.
  await loadFormats();
  const isFirst = openTasks().length === 0;
  const fresh = given.map((each) => {
    const piece = pieceOf(each);
    return taskOf([piece], { target: targetFor(sourceOf(piece.name)) });
  });
  if (isFirst)
    values.value = Object.assign(
      {},
      ...[...new Set(fresh.map(kindOf))].map((kind) => lastChoice(kind)?.options ?? {}),
      asked.value?.options,
    );
  add(fresh);
}

/** @param choice a target, and options that it has: further files begin with them; undefined where the address asks for nothing */
export function chooseByAddress(choice: (Choice & { readonly target: string }) | undefined): void {
  asked.value = choice;
  if (choice === undefined) return;
  setTargets(choice.target);
  if (Object.keys(choice.options).length > 0) values.value = { ...values.value, ...choice.options };
}
const setTargets = (target: string): void => {
  for (const task of openTasks()) if (targetsOf(task).includes(target)) task.target.value = target;
};

/** For all that can become it. */
export function chooseTarget(target: string): void {
  preferred.value = target;
  setTargets(target);
}

/** What these are started with is what the next of their kind begin with. */
export function rememberFor(some: readonly Task[]): void {
  preferred.value = undefined;
  for (const [kind, [first]] of Map.groupBy(some, kindOf))
    if (first !== undefined) rememberChoice(kind, { target: first.target.value, options: values.value });
}

/** Puts them in once more, with the choices that they were converted with; those without a result are replaced. @param files in place of those that this browser has no more */
export function chooseAgain(some: readonly Task[], files: readonly File[] = []): void {
  const [first] = some;
  if (first === undefined) return;
  const isFirst = list.value.every(({ state }) => state.value.at !== 'ready');
  const fresh = some.map((task) => {
    const pieces = files.length > 0 ? files.map(pieceOf) : task.pieces.value;
    const copy = taskOf(pieces, { target: task.target.value });
    copy.own.value = task.own.value;
    return copy;
  });
  if (isFirst) values.value = files.length > 0 ? (lastChoice(kindOf(first))?.options ?? {}) : first.options;
  isOpened.value = true;
  remove(some.filter(({ state }) => state.value.at !== 'done'));
  add(fresh);
}
