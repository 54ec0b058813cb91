/** The list of tasks, and what can be done with all of them. */
import type { Signal } from '@preact/signals';
import { t } from '../words/words.ts';
import type { Result } from '../work/result.ts';
import { isActive, stop, type Task } from '../work/tasks.ts';
import { DownloadAll, isPacking } from './download-all.tsx';
import { TaskRow } from './task-row.tsx';

interface Given {
  readonly tasks: Signal<readonly Task[]>;
  readonly start: (task: Task) => void;
  /** Leads back to the brush. */
  readonly paint?: (task: Task) => void;
}

export function TaskList({ tasks, start, paint }: Given) {
  const list = tasks.value;
  const packing = isPacking(tasks);
  if (list.length === 0 && !packing) return null;
  const results = list.flatMap(({ state: { value } }): Result[] => {
    if (value.at !== 'done' || value.job.output === undefined) return [];
    const { job_id: id, created_at: created, output } = value.job;
    return [{ id, name: output.filename, bytes: output.size_bytes, created }];
  });
  const active = list.filter(isActive);
  const remove = (task: Task) => {
    stop(task);
    tasks.value = tasks.value.filter((each) => each !== task);
  };
  return (
    <section class="list" aria-label={t('files', { n: list.length })}>
      <ul>
        {list.map((task) => (
          <TaskRow key={task.key} task={task} start={() => start(task)} paint={() => paint?.(task)} remove={() => remove(task)} />
        ))}
      </ul>
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
