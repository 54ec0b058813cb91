/** Converts files: each to its own target, or all to one. */
import { batch } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { formats, loadDetails, loadFormats, madeFormat, optionsOf, sourceOf, usualTargets } from '../api/catalog.ts';
import { Intake } from '../parts/intake.tsx';
import { Nothing } from '../parts/nothing.tsx';
import { Options, takenFrom } from '../parts/options.tsx';
import { isPdf, PagePicker } from '../parts/pages.tsx';
import { Popular } from '../parts/popular.tsx';
import { Presets } from '../parts/presets.tsx';
import { AsRequest, type Request } from '../parts/request.tsx';
import { Targets } from '../parts/targets.tsx';
import { TaskList } from '../parts/task-list.tsx';
import { focusOn, href, query } from '../route.ts';
import { formatName, loadSearch } from '../words/search.ts';
import { viewTitle } from '../words/titles.ts';
import { t } from '../words/words.ts';
import { choose, chooseByAddress, chooseTarget, isOpened as opened, openTasks, rememberFor, targetsOf, values } from '../work/chosen.ts';
import { bounds } from '../work/limits.ts';
import { learnBounds } from '../work/line.ts';
import { list } from '../work/list.ts';
import { fieldsOf, wantOf } from '../work/orders.ts';
import { start, type Task } from '../work/tasks.ts';

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

interface Given {
  /** As in the address: extensions. */
  readonly from?: string;
  readonly to?: string;
}

export function ConvertPage({ from, to = query.value.get('to') ?? undefined }: Given) {
  const options = useRef<HTMLDetailsElement>(null);
  const source = from === undefined ? undefined : sourceOf(`.${from}`);
  const target = to === undefined || to.length > 12 ? undefined : madeFormat(to.toLowerCase());
  const isUnknown = formats.value !== undefined && from !== undefined && source?.targets.some(({ format }) => format === target) !== true;
  useEffect(() => {
    if (target !== undefined && !isUnknown)
      batch(() => chooseByAddress({ target, options: takenFrom(query.value, optionsOf([source?.format], target)) }));
    return () => chooseByAddress(undefined);
  }, [target, source?.format, isUnknown]);
  useEffect(() => {
    document.title = viewTitle(
      from !== undefined && to !== undefined
        ? t('fromTo', { from: from.toUpperCase(), to: to.toUpperCase() })
        : target === undefined
          ? t('convert')
          : t('toFormat', { to: target.toUpperCase() }),
    );
  }, [target]);
  useEffect(() => {
    void loadFormats();
    if (from !== undefined) void loadSearch();
    // How large files may be, and how many of them one request may have.
    void learnBounds();
  }, []);
  const open = openTasks();
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
    rememberFor(some);
    batch(() => {
      for (const task of some) start(task, values.value);
    });
    // The button is gone: what became of it is read next.
    focusOn('.list h2');
  };
  const fieldsTo = (target: string) =>
    optionsOf([...new Set(open.filter((task) => task.target.value === target).map(({ pieces }) => pieces.value[0]?.format))], target);
  const names = new Set(targets.flatMap((target) => fieldsTo(target).map(([name]) => name)));
  const set = Object.keys(values.value).filter((name) => names.has(name));
  const only = targets.length === 1 ? targets[0] : undefined;
  if (isUnknown)
    return (
      <Nothing
        title={t('notFound')}
        lead={t('noPair', { from: from.toUpperCase(), to: (to ?? '').toUpperCase() })}
        more={
          <a class="button main" href={href('/')} data-view="/">
            {t('toStart')}
          </a>
        }
      />
    );
  const called = (format: string) => formatName(format) || format.toUpperCase();
  return (
    <>
      <header class="head">
        <h1 tabIndex={-1}>
          {from !== undefined && to !== undefined
            ? t('pairHeadline', { from: from.toUpperCase(), to: to.toUpperCase() })
            : target === undefined
              ? t('headline')
              : t('toFormat', { to: target.toUpperCase() })}
        </h1>
        <p class="lead">
          {source === undefined || target === undefined ? t('lead') : t('pairLead', { from: called(source.format), to: called(target) })}
        </p>
      </header>
      <Intake add={(given) => void choose(given)} small={list.value.length > 0} most={bounds.value.max_bytes} />
      {list.value.length === 0 && <Popular />}
      {open.length > 0 && (
        <section class="panel" aria-label={t('allTo')}>
          <h2 tabIndex={-1}>{open.length > 1 ? t('allTo') : t('convertTo')}</h2>
          <Targets usual={usual} all={all} chosen={only} choose={(target) => batch(() => chooseTarget(target))} />
          <Presets all={all} chosen={only} values={values} choose={(target) => batch(() => chooseTarget(target))} />
          <details
            ref={options}
            open={opened.value}
            onToggle={(event) => {
              opened.value = event.currentTarget.open;
            }}
          >
            <summary>
              {t('options')}
              {set.length > 0 && <span class="count">{t('optionsSet', { n: set.length })}</span>}
            </summary>
            {formats.value !== undefined &&
              targets.map((target) => {
                const [first] = open.filter((task) => task.target.value === target).map(({ pieces }) => pieces.value[0]);
                const fields = fieldsTo(target);
                // The pages of several files are not the same ones.
                const only = open.length === 1 && fields.some(([name]) => name === 'pages') ? first : undefined;
                return (
                  <form
                    key={target}
                    onSubmit={(event) => {
                      event.preventDefault();
                      void begin(open);
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
            {set.length > 0 && (
              <button
                type="button"
                class="button"
                onClick={() => {
                  values.value = {};
                }}
              >
                {t('optionsReset')}
              </button>
            )}
          </details>
          <button type="button" class="button main large" onClick={() => void begin(open)}>
            {t('start', { n: open.length })}
          </button>
        </section>
      )}
      <TaskList start={(task) => start(task, task.options)} />
      {open.length > 0 && <AsRequest requests={requestsFor(open)} />}
    </>
  );
}
