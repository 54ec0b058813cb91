/** Converts files: each to its own target, or all to one. */
import { batch, signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { formats, loadDetails, loadFormats, optionsOf, sourceOf, usualTargets } from '../api/catalog.ts';
import { Intake } from '../parts/intake.tsx';
import { Options } from '../parts/options.tsx';
import { isPdf, PagePicker } from '../parts/pages.tsx';
import { AsRequest, type Request } from '../parts/request.tsx';
import { Targets } from '../parts/targets.tsx';
import { TaskList } from '../parts/task-list.tsx';
import { t } from '../words/words.ts';
import { bounds } from '../work/limits.ts';
import { learnBounds } from '../work/line.ts';
import { fieldsOf, wantOf } from '../work/orders.ts';
import { isActive, pieceOf, start, type Task, taskOf } from '../work/tasks.ts';

/** They stay while another view is open. */
const tasks = signal<readonly Task[]>([]);
const values = signal<Readonly<Record<string, string>>>({});
const preferred = signal<string | undefined>(undefined);

const targetsOf = (task: Task): readonly string[] => sourceOf(task.pieces.value[0]?.name ?? '')?.targets.map(({ format }) => format) ?? [];

async function add(given: readonly (File | string)[]): Promise<void> {
  // What a file can become is known soon.
  await loadFormats();
  const fresh = given.map((each) => {
    const piece = pieceOf(each);
    const source = sourceOf(piece.name);
    const wanted = source?.targets.some(({ format }) => format === preferred.value) ? preferred.value : undefined;
    return taskOf([piece], {
      target: wanted ?? (source === undefined ? 'pdf' : (usualTargets(source)[0] ?? source.targets[0]?.format ?? 'pdf')),
    });
  });
  tasks.value = [...tasks.value, ...fresh];
  // How many of them one request may have.
  if (tasks.value.length > 1) void learnBounds();
}

/** What asks for all of them: those that are alike by one request, as many as it may have. */
function requestsFor(open: readonly Task[]): readonly Request[] {
  const alike = Map.groupBy(open, (task) => {
    const isFile = task.pieces.value[0]?.file !== undefined;
    return JSON.stringify([isFile, wantOf(task, fieldsFor(task))]);
  });
  const most = bounds.value.max_batch_files;
  return [...alike.values()].flatMap((tasks) =>
    Array.from({ length: Math.ceil(tasks.length / most) }, (_, n) => requestFor(tasks.slice(n * most, (n + 1) * most))),
  );
}

const fieldsFor = (task: Task) => ({ ...values.value, ...task.own.value });

/** @param tasks files, or addresses, which are to become the same with the same options */
function requestFor(tasks: readonly Task[]): Request {
  const pieces = tasks.flatMap((task) => task.pieces.value);
  const [first] = tasks;
  return {
    ...(pieces.length > 1 ? { path: 'api/v1/batch', field: 'files[]' } : { path: 'api/v1/convert', field: 'file' }),
    files: pieces.flatMap(({ file, name }) => (file === undefined ? [] : [name])),
    urls: pieces.flatMap(({ url }) => (url === undefined ? [] : [url])),
    fields: first === undefined ? {} : { to_format: first.target.value, ...fieldsOf(first, fieldsFor(first)) },
  };
}

export function ConvertPage() {
  const opened = useSignal(false);
  const options = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    document.title = `filemill: ${t('convert')}`;
    void loadFormats();
  }, []);
  const list = tasks.value;
  const open = list.filter((task) => !isActive(task) && task.state.value.at !== 'done');
  const waiting = list.filter(({ state }) => state.value.at === 'ready');
  // What failed or was cancelled comes again when nothing new waits.
  const next = waiting.length > 0 ? waiting : open;
  const targets = [...new Set(open.map(({ target }) => target.value))];
  const sources = [...new Set(open.map(({ pieces }) => pieces.value[0]?.format))];
  useEffect(() => {
    if (opened.value) for (const source of sources) if (source !== undefined) void loadDetails(source);
  }, [opened.value, sources.join()]);

  const usual = [
    ...new Set(
      open.flatMap((task) => {
        const source = sourceOf(task.pieces.value[0]?.name ?? '');
        return source === undefined ? [] : usualTargets(source).slice(0, 5);
      }),
    ),
  ].slice(0, 8);
  const all = [...new Set(open.flatMap(targetsOf))].sort();
  const begin = async (some: readonly Task[]) => {
    const wrong = options.current?.querySelector<HTMLInputElement>('input:invalid');
    if (wrong) {
      // The browser says what is wrong, beside the field.
      if (options.current !== null) options.current.open = true;
      wrong.reportValidity();
      return;
    }
    // What has no effect on a file is not sent.
    if (Object.keys(values.value).length > 0)
      await Promise.all(
        [...new Set(some.map(({ pieces }) => pieces.value[0]?.format))].map((source) =>
          source === undefined ? undefined : loadDetails(source),
        ),
      );
    for (const task of some) start(task, values.value);
  };
  return (
    <>
      <header class="head">
        <h1 tabIndex={-1}>{t('headline')}</h1>
        <p class="lead">{t('lead')}</p>
      </header>
      <Intake add={(given) => void add(given)} small={list.length > 0} />
      {open.length > 0 && (
        <section class="panel" aria-label={t('allTo')}>
          <h2>{open.length > 1 ? t('allTo') : t('convertTo')}</h2>
          <Targets
            usual={usual}
            all={all}
            chosen={targets.length === 1 ? targets[0] : undefined}
            choose={(target) =>
              batch(() => {
                preferred.value = target;
                for (const task of open) if (targetsOf(task).includes(target)) task.target.value = target;
              })
            }
          />
          <details
            ref={options}
            onToggle={(event) => {
              opened.value = event.currentTarget.open;
            }}
          >
            <summary>{t('options')}</summary>
            {formats.value !== undefined &&
              targets.map((target) => {
                const first = open.filter((task) => task.target.value === target).map(({ pieces }) => pieces.value[0]);
                const fields = optionsOf([...new Set(first.map((piece) => piece?.format))], target);
                // The pages of several files are not the same ones.
                const only = open.length === 1 && fields.some(([name]) => name === 'pages') ? first[0] : undefined;
                return (
                  <form
                    key={target}
                    onSubmit={(event) => {
                      event.preventDefault();
                      void begin(next);
                    }}
                  >
                    {targets.length > 1 && <h3>{t('optionsFor', { name: target.toUpperCase() })}</h3>}
                    {opened.value && only?.file !== undefined && isPdf(only.file) && (
                      <PagePicker key={only.key} file={only.file} values={values} required={false} />
                    )}
                    <Options
                      prefix={`to-${target}`}
                      values={values}
                      fields={fields.map(([name, schema]) => ({ name, schema, required: false }))}
                    />
                  </form>
                );
              })}
          </details>
          <button type="button" class="button main large" onClick={() => void begin(next)}>
            {t(next === waiting ? 'start' : 'retryAll', { n: next.length })}
          </button>
        </section>
      )}
      <TaskList tasks={tasks} start={(task) => void begin([task])} />
      {open.length > 0 && <AsRequest requests={requestsFor(open)} />}
    </>
  );
}
