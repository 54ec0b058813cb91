/** The list of tasks, and what can be done with all of them. */
import type { Signal } from '@preact/signals';
import { useSignal } from '@preact/signals';
import { Refusal } from '../api/client.ts';
import { t } from '../words/words.ts';
import { saveAll } from '../work/result.ts';
import { isActive, stop, type Task } from '../work/tasks.ts';
import { sentenceOf } from './failure.ts';
import { Icon } from './icon.tsx';
import { TaskRow } from './task-row.tsx';

interface Given {
  readonly tasks: Signal<readonly Task[]>;
  readonly start: (task: Task) => void;
}

export function TaskList({ tasks, start }: Given) {
  const packed = useSignal<number | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const list = tasks.value;
  if (list.length === 0) return null;
  const results = list.flatMap(({ state }) => {
    const { value } = state;
    return value.at === 'done' && value.job.output !== undefined ? [{ id: value.job.job_id, name: value.job.output.filename }] : [];
  });
  const remove = (task: Task) => {
    stop(task);
    tasks.value = tasks.value.filter((each) => each !== task);
  };
  return (
    <section class="list" aria-label={t('files', { n: list.length })}>
      <ul>
        {list.map((task) => (
          <TaskRow key={task.key} task={task} start={() => start(task)} remove={() => remove(task)} />
        ))}
      </ul>
      <div class="after">
        {results.length > 1 && (
          <button
            type="button"
            class="button main"
            disabled={packed.value !== undefined}
            onClick={() => {
              packed.value = 0;
              failure.value = undefined;
              void saveAll(results, (n) => {
                packed.value = n;
              })
                .catch((error: unknown) => {
                  failure.value = error instanceof Refusal ? sentenceOf(error) : t('notPacked');
                })
                .finally(() => {
                  packed.value = undefined;
                });
            }}
          >
            <Icon name="down" />
            {packed.value === undefined ? t('downloadAll', { n: results.length }) : t('packing', { n: packed.value, of: results.length })}
          </button>
        )}
        {!list.some(isActive) && (
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
      {failure.value !== undefined && <p role="alert">{failure.value}</p>}
    </section>
  );
}
