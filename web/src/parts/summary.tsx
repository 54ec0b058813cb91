/** What became of many tasks, and what can be done with all of them: above their rows. */
import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { t } from '../words/words.ts';
import { nameOf } from '../work/follow.ts';
import { remove } from '../work/list.ts';
import type { Result } from '../work/result.ts';
import { canStart, isActive, isHopeless, shareOf, stop, type Task } from '../work/tasks.ts';
import { DownloadAll, isPacking } from './download-all.tsx';
import { Icon } from './icon.tsx';
import type { TaskActions } from './task-row.tsx';

const resultsOf = (tasks: readonly Task[]): readonly Result[] =>
  tasks.flatMap(({ state: { value } }): Result[] => {
    if (value.at !== 'done' || value.job.output === undefined) return [];
    const { job_id: id, created_at: created, output } = value.job;
    return [{ id, name: nameOf(output), bytes: output.size_bytes, created }];
  });

interface Given {
  readonly id: string;
  readonly tasks: ReadonlySignal<readonly Task[]>;
  readonly actions: TaskActions;
  readonly title?: string | undefined;
}

export function Summary({ id, tasks: { value: tasks }, actions, title }: Given) {
  const begun = tasks.filter(({ state }) => state.value.at !== 'ready');
  const active = begun.filter(isActive);
  const [done, failed] = (['done', 'failed'] as const).map((at) => begun.filter(({ state }) => state.value.at === at).length) as [
    number,
    number,
  ];
  const results = resultsOf(begun);
  const packing = isPacking(id);
  const over = begun.filter((task) => !isActive(task) && canStart(task) && task.tool === begun[0]?.tool);
  const retried = over.filter((task) => task.state.value.at !== 'done' && !isHopeless(task));
  const jobs = begun.filter(({ jobId }) => jobId !== undefined);
  const share = begun.reduce((sum, task) => sum + (isActive(task) ? (shareOf(task.state.value) ?? 0) : 1), 0) / Math.max(1, begun.length);
  const progress = done === begun.length ? t('allDone', { n: done }) : t('progressOf', { n: done, of: begun.length });
  const says = begun.length === 0 ? t('files', { n: tasks.length }) : progress;
  return (
    <header class="summary">
      <div class="told">
        <h2 tabIndex={-1}>{title ?? says}</h2>
        {title !== undefined && active.length > 0 && <p>{says}</p>}
        {failed > 0 && <p class="failures">{t('failures', { n: failed })}</p>}
      </div>
      {/* Heard once, at the end: rows of many tasks are silent. */}
      <p role="status" class="unseen">
        {begun.length > 1 && active.length === 0 ? says : ''}
      </p>
      <div class="acts">
        {active.length > 1 && (
          <button type="button" class="button" onClick={() => active.forEach(stop)}>
            {t('cancelAll')}
          </button>
        )}
        {active.length === 0 && retried.length > 1 && (
          <button type="button" class="button" onClick={() => retried.forEach(actions.start)}>
            {t('retryAll', { n: retried.length })}
          </button>
        )}
        {active.length === 0 && over.length > 1 && (
          <button type="button" class="button" aria-label={t('againAll')} title={t('againAll')} onClick={() => actions.again(over)}>
            <Icon name="again" />
            {t('again')}
          </button>
        )}
        {active.length === 0 && !packing && tasks.length > 1 && <Clear tasks={tasks} jobs={jobs.length} />}
        {(packing || results.length > 1) && <DownloadAll id={id} results={results} />}
      </div>
      {active.length > 0 && begun.length > 1 && <progress max={1} value={share} aria-label={says} />}
    </header>
  );
}

/** What is on the service is deleted there after a second press, which is asked for in the same place. */
function Clear({ tasks, jobs }: { tasks: readonly Task[]; jobs: number }) {
  const asks = useSignal(false);
  useEffect(() => {
    asks.value = false;
  }, [jobs]);
  const press = () => {
    if (jobs > 0 && !asks.value) asks.value = true;
    else remove(tasks);
  };
  return (
    <>
      {asks.value && (
        <button
          type="button"
          class="button"
          onClick={() => {
            asks.value = false;
          }}
        >
          {t('keep')}
        </button>
      )}
      <button type="button" class={`button${asks.value ? ' danger' : ''}`} onClick={press}>
        {jobs === 0 ? t('clear') : asks.value ? t('deleteAllNow', { n: jobs }) : t('deleteAll')}
      </button>
    </>
  );
}
