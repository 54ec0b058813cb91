/** The list of tasks, and what can be done with all of them. */
import type { Signal } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import { t } from '../words/words.ts';
import type { Result } from '../work/result.ts';
import { isActive, stop, type Task } from '../work/tasks.ts';
import { DownloadAll, isPacking } from './download-all.tsx';
import { type TaskActions, TaskRow } from './task-row.tsx';

interface Given {
  readonly tasks: Signal<readonly Task[]>;
  readonly start: (task: Task) => void;
  /** Leads back to the brush. */
  readonly paint?: (task: Task) => void;
}

export function TaskList({ tasks, start, paint }: Given) {
  const latest = useRef({ start, paint });
  latest.current = { start, paint };
  const actions = useMemo(
    (): TaskActions => ({
      start: (task) => latest.current.start(task),
      paint: (task) => latest.current.paint?.(task),
      remove: (task) => {
        stop(task);
        tasks.value = tasks.value.filter((each) => each !== task);
      },
    }),
    [tasks],
  );
  const list = tasks.value;
  const packing = isPacking(tasks);
  if (list.length === 0 && !packing) return null;
  const results = list.flatMap(({ state: { value } }): Result[] => {
    if (value.at !== 'done' || value.job.output === undefined) return [];
    const { job_id: id, created_at: created, output } = value.job;
    return [{ id, name: output.filename, bytes: output.size_bytes, created }];
  });
  const active = list.filter(isActive);
  return (
    <section class="list" aria-label={t('files', { n: list.length })}>
      <Rows tasks={tasks} actions={actions} />
      <div class="after">
        {(packing || results.length > 1) && <DownloadAll tasks={tasks} results={results} />}
        {active.length > 1 && (
          <button type="button" class="button" onClick={() => active.forEach(stop)}>
            {t('cancelAll')}
          </button>
        )}
        {!packing && active.length === 0 && (
          <button
            type="button"
            class="button"
            onClick={() => {
              tasks.value = [];
            }}
          >
            {t('clear')}
          </button>
        )}
      </div>
    </section>
  );
}

/** Apart, with the same properties each time: each change of a task's state draws its own row alone, of however many. */
function Rows({ tasks, actions }: { readonly tasks: Signal<readonly Task[]>; readonly actions: TaskActions }) {
  return (
    <ul>
      {tasks.value.map((task) => (
        <TaskRow key={task.key} task={task} actions={actions} />
      ))}
    </ul>
  );
}
