/** One task: its file, its target, how far it is, and what came of it. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { sourceOf, usualTargets } from '../api/catalog.ts';
import { href } from '../route.ts';
import { bytes, hasWord, percent, t, title, toolName } from '../words/words.ts';
import { outputOf } from '../work/result.ts';
import { isActive, type State, shownOf, stop, type Task } from '../work/tasks.ts';
import { sentenceOf, wantsPassword } from './failure.ts';
import { Icon, iconOf } from './icon.tsx';
import { kindOf, Preview } from './preview.tsx';
import { Warnings } from './warnings.tsx';

/** What its buttons do. */
export interface TaskActions {
  readonly start: (task: Task) => void;
  readonly paint: (task: Task) => void;
  readonly remove: (task: Task) => void;
}

interface Given {
  readonly task: Task;
  readonly actions: TaskActions;
}

function saying(state: State): string {
  switch (state.at) {
    case 'uploading':
      return t('uploading', { percent: percent(state.share) });
    case 'working':
      return state.percent === undefined ? t('working') : t('workingAt', { percent: percent(state.percent / 100) });
    case 'done':
      return t('done');
    default:
      return t(state.at);
  }
}

/** The same strokes would be refused again. */
const hasRefusedMask = ({ pieces, state: { value } }: Task): boolean =>
  value.at === 'failed' && value.error.details['retryable'] === false && pieces.value.some(({ isMask }) => isMask);

export function TaskRow({ task, actions }: Given) {
  const state = task.state.value;
  const shown = useSignal(false);
  const pieces = shownOf(task);
  const [first] = pieces;
  const isRefusedMask = hasRefusedMask(task);
  const name = pieces.length === 1 ? (first?.name ?? '') : t('files', { n: pieces.length });
  const size = pieces.reduce((sum, { file }) => sum + (file?.size ?? 0), 0);
  const source = first === undefined ? undefined : sourceOf(first.name);
  return (
    <li class={`task ${state.at}`} data-state={state.at}>
      <span class="sign">
        <Icon name={state.at === 'done' ? 'check' : state.at === 'failed' ? 'warn' : iconOf(source?.family)} />
      </span>
      <div class="about">
        <p class="name" dir="auto" title={name}>
          {name}
        </p>
        <p class="says">
          {size > 0 && state.at !== 'done' && <span>{bytes(size)}</span>}
          {task.tool === undefined && state.at !== 'ready' && <span>→ {task.target.value.toUpperCase()}</span>}
          <Saying task={task} state={state} size={size} />
        </p>
      </div>
      <div class="acts">
        {task.tool === undefined && !isActive(task) && state.at !== 'done' && <TargetOf task={task} name={name} />}
        {(state.at === 'failed' || state.at === 'cancelled') && (
          <button type="button" class="button" onClick={() => (isRefusedMask ? actions.paint : actions.start)(task)}>
            {t(isRefusedMask ? 'paintAgain' : 'retry')}
          </button>
        )}
        {state.at === 'done' && kindOf(state.job) !== undefined && (
          <button
            type="button"
            class="button"
            aria-expanded={shown.value}
            onClick={() => {
              shown.value = !shown.value;
            }}
          >
            {t(shown.value ? 'hide' : 'preview')}
          </button>
        )}
        {state.at === 'done' && state.job.output !== undefined && (
          <a
            class="button main"
            href={outputOf(state.job.job_id)}
            download={state.job.output.filename}
            aria-label={t('downloadNamed', { name: state.job.output.filename })}
          >
            <Icon name="down" />
            {t('download')}
          </a>
        )}
        {isActive(task) ? (
          <button type="button" class="button" onClick={() => stop(task)}>
            {t('cancel')}
          </button>
        ) : (
          <button type="button" class="bare" aria-label={t('removeNamed', { name })} onClick={() => actions.remove(task)}>
            <Icon name="close" />
          </button>
        )}
      </div>
      {isActive(task) && state.at !== 'queued' && <Bar state={state} name={name} />}
      {state.at === 'failed' && <Failed task={task} start={() => actions.start(task)} />}
      {state.at === 'done' && <Warnings warnings={state.job.warnings} />}
      {state.at === 'done' && shown.value && <Preview job={state.job} before={pieces.length === 1 ? first?.file : undefined} />}
    </li>
  );
}

function Saying({ task, state, size }: { task: Task; state: State; size: number }) {
  if (state.at !== 'done') return <span role="status">{saying(state)}</span>;
  const { output, job_id: id } = state.job;
  const change = output === undefined || size === 0 ? 0 : (output.size_bytes - size) / size;
  return (
    <>
      <span role="status">
        {output === undefined
          ? t('done')
          : size > 0
            ? t('sizes', { before: bytes(size), after: bytes(output.size_bytes) })
            : bytes(output.size_bytes)}
      </span>
      {Math.abs(change) >= 0.01 && change < 10 && (
        <span class={change < 0 ? 'good' : ''}>{t(change < 0 ? 'smaller' : 'larger', { percent: percent(Math.abs(change)) })}</span>
      )}
      {output !== undefined && output.files > 1 && <span>{t('inZip', { n: output.files })}</span>}
      <a href={href(`/jobs/${id}`)} data-view={`/jobs/${id}`} class="quiet">
        {t('link')}
      </a>
      {task.tool !== undefined && <span class="quiet">{toolName(task.tool).text}</span>}
    </>
  );
}

function Bar({ state, name }: { state: State; name: string }) {
  const value =
    state.at === 'uploading'
      ? state.share * 50
      : state.at === 'working' && state.percent !== undefined
        ? 50 + state.percent / 2
        : undefined;
  return <progress max={100} {...(value === undefined ? {} : { value })} aria-label={name} />;
}

function Notice({ children }: { children: ComponentChildren }) {
  return <div class="notice">{children}</div>;
}

function Failed({ task, start }: { task: Task; start: () => void }) {
  const state = task.state.value;
  if (state.at !== 'failed') return null;
  const why = sentenceOf(state.error);
  return (
    <Notice>
      <p role="alert" lang={why.lang}>
        {why.text}
      </p>
      {wantsPassword(state.error) && (
        <form
          class="password"
          onSubmit={(event) => {
            event.preventDefault();
            const { value } = event.currentTarget.elements.namedItem('password') as HTMLInputElement;
            task.own.value = { ...task.own.value, password: value };
            start();
          }}
        >
          <input name="password" type="password" required aria-label={t('password')} placeholder={t('password')} autocomplete="off" />
          <button type="submit" class="button main">
            {t('usePassword')}
          </button>
        </form>
      )}
    </Notice>
  );
}

function TargetOf({ task, name }: { task: Task; name: string }) {
  const source = sourceOf(task.pieces.value[0]?.name ?? '');
  if (source === undefined)
    return (
      <input
        class="target"
        aria-label={t('targetOf', { name })}
        placeholder={t('to')}
        value={task.target.value}
        size={6}
        autocomplete="off"
        onInput={(event) => {
          task.target.value = event.currentTarget.value.trim().toLowerCase().replace(/^\./, '');
        }}
      />
    );
  const usual = usualTargets(source);
  const rest = source.targets.map(({ format }) => format).filter((format) => !usual.includes(format));
  const option = (format: string) => (
    <option key={format} value={format} selected={format === task.target.value}>
      {format.toUpperCase()}
    </option>
  );
  return (
    <select
      class="target"
      aria-label={t('targetOf', { name })}
      value={task.target.value}
      onChange={(event) => {
        task.target.value = event.currentTarget.value;
      }}
    >
      <optgroup label={t('usual')}>{usual.map(option)}</optgroup>
      <optgroup label={t('all')}>{rest.map(option)}</optgroup>
    </select>
  );
}
export const familyName = (family: string): string => {
  const key = `family_${family}`;
  return hasWord(key) ? t(key) : title(family);
};
