/** The list of tasks: those of the latest run, and below them what was done before. */
import { type ReadonlySignal, useComputed } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import { go } from '../route.ts';
import { t } from '../words/words.ts';
import { chooseAgain } from '../work/chosen.ts';
import { list, remove } from '../work/list.ts';
import { pieceOf, shownOf, type Task } from '../work/tasks.ts';
import { choicesOf } from '../work/tool-choices.ts';
import { isPacking } from './download-all.tsx';
import { Summary } from './summary.tsx';
import { type TaskActions, TaskRow } from './task-row.tsx';

interface Given {
  /** All tasks, or those of one tool alone. */
  readonly tool?: string | undefined;
  readonly start: (task: Task) => void;
  /** Leads back to the brush. */
  readonly paint?: (task: Task) => void;
  /** Whether each says when its files are deleted. */
  readonly expiry?: boolean;
}

/** Beyond that, a screen reader is told of all at once. */
const FEW = 5;

/** A part of the list, which is another one only where other tasks are in it. */
function usePart(isPart: (task: Task, latest: number) => boolean, tool: string | undefined): ReadonlySignal<readonly Task[]> {
  const last = useRef<readonly Task[]>([]);
  return useComputed(() => {
    const all = list.value.filter((task) => tool === undefined || task.tool === tool);
    const begun = all.filter(({ state }) => state.value.at !== 'ready');
    const here = begun.filter(({ isHere }) => isHere);
    const latest = Math.max(0, ...(here.length > 0 ? here : begun).map(({ run }) => run));
    const next = all.filter((task) => isPart(task, latest));
    if (next.length !== last.current.length || next.some((task, place) => task !== last.current[place])) last.current = next;
    return last.current;
  });
}
const isLatest = (task: Task, latest: number): boolean => task.state.value.at === 'ready' || task.run === latest;
const isEarlier = (task: Task, latest: number): boolean => !isLatest(task, latest);

/** The same files in their tool, or on the start page, with what they were converted with. */
function again(tasks: readonly Task[], files: readonly File[] = []): void {
  const [first] = tasks;
  if (first === undefined) return;
  if (first.tool === undefined) chooseAgain(tasks, files);
  else {
    const place = choicesOf(first.tool);
    place.pieces.value = files.length > 0 ? files.map(pieceOf) : tasks.flatMap(shownOf);
    if (files.length === 0) place.values.value = first.options;
  }
  go(first.tool === undefined ? '/' : `/tools/${first.tool}`, '.panel h2');
}

export function TaskList({ tool, start, paint, expiry = false }: Given) {
  const handlers = useRef({ start, paint });
  handlers.current = { start, paint };
  const actions = useMemo(
    (): TaskActions => ({
      start: (task) => handlers.current.start(task),
      paint: (task) => handlers.current.paint?.(task),
      remove: (task) => remove([task]),
      again,
    }),
    [],
  );
  const latest = usePart(isLatest, tool);
  const earlier = usePart(isEarlier, tool);
  return (
    <>
      <Part id={`${tool ?? ''} latest`} tasks={latest} actions={actions} expiry={expiry} />
      <Part id={`${tool ?? ''} earlier`} tasks={earlier} actions={actions} expiry title={t('earlier')} />
    </>
  );
}

interface PartGiven {
  /** What its ZIP is known by. */
  readonly id: string;
  readonly tasks: ReadonlySignal<readonly Task[]>;
  readonly actions: TaskActions;
  readonly expiry: boolean;
  readonly title?: string;
}

function Part({ id, tasks, actions, expiry, title }: PartGiven) {
  const { length } = tasks.value;
  if (length === 0 && !isPacking(id)) return null;
  return (
    <section class="list" aria-label={title ?? t('files', { n: length })}>
      <Summary id={id} tasks={tasks} actions={actions} title={title} />
      {length > 0 && <Rows tasks={tasks} actions={actions} expiry={expiry} aloud={length <= FEW} />}
    </section>
  );
}

type RowsGiven = Pick<PartGiven, 'tasks' | 'actions' | 'expiry'> & { readonly aloud: boolean };
/** Apart, with the same properties each time: each change of a task's state draws its own row alone, of however many. */
function Rows({ tasks, actions, expiry, aloud }: RowsGiven) {
  return (
    <ul>
      {tasks.value.map((task) => (
        <TaskRow key={task.key} task={task} actions={actions} aloud={aloud} expiry={expiry} />
      ))}
    </ul>
  );
}
