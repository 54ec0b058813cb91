/** One task: its file, its target, how far it is, and what came of it. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { sourceOf } from '../api/catalog.ts';
import { hasWord, t, title } from '../words/words.ts';
import { nameOf } from '../work/follow.ts';
import { outputOf } from '../work/result.ts';
import { canStart, isActive, isHopeless, type State, shareOf, shownOf, stop, type Task } from '../work/tasks.ts';
import { sentenceOf, wantsPassword } from './failure.ts';
import { Icon, iconOf } from './icon.tsx';
import { Preview, previewKindOf } from './preview.tsx';
import { Receipt } from './receipt.tsx';
import { Saying } from './saying.tsx';
import { TargetOf } from './target-of.tsx';
import { Warnings } from './warnings.tsx';

/** What its buttons do. */
export interface TaskActions {
  readonly start: (task: Task) => void;
  readonly paint: (task: Task) => void;
  readonly remove: (task: Task) => void;
  /** @param files in place of those that this browser has no more */
  readonly again: (tasks: readonly Task[], files?: readonly File[]) => void;
}

interface Given {
  readonly task: Task;
  readonly actions: TaskActions;
  readonly aloud: boolean;
  readonly expiry: boolean;
}

/** The same strokes would be refused again. */
const hasRefusedMask = ({ pieces, state: { value } }: Task): boolean =>
  value.at === 'failed' && value.error.details['retryable'] === false && pieces.value.some(({ isMask }) => isMask);

export function TaskRow({ task, actions, aloud, expiry }: Given) {
  const state = task.state.value;
  const shown = useSignal(false);
  const pieces = shownOf(task);
  const [first] = pieces;
  const isRefusedMask = hasRefusedMask(task);
  const name = pieces.length === 1 ? (first?.name ?? '') : t('files', { n: pieces.length });
  const source = first === undefined ? undefined : sourceOf(first.name);
  const output = state.at === 'done' ? state.job.output : undefined;
  const isOver = !isActive(task) && state.at !== 'ready';
  return (
    <li class={`task ${state.at}`} data-state={state.at}>
      <span class="sign">
        <Icon name={state.at === 'done' ? 'check' : state.at === 'failed' ? 'warn' : iconOf(source?.family)} />
      </span>
      <div class="about">
        <p class="name" dir="auto" title={name}>
          {name}
        </p>
        <Saying task={task} aloud={aloud} expiry={expiry} />
      </div>
      <div class="acts">
        {task.tool === undefined && !isActive(task) && state.at !== 'done' && canStart(task) && <TargetOf task={task} name={name} />}
        {(state.at === 'failed' || state.at === 'cancelled') && canStart(task) && !isHopeless(task) && (
          <button type="button" class="button" onClick={() => (isRefusedMask ? actions.paint : actions.start)(task)}>
            {t(isRefusedMask ? 'paintAgain' : 'retry')}
          </button>
        )}
        {state.at === 'done' && previewKindOf(state.job) !== undefined && (
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
        {isOver && <Again task={task} name={name} again={actions.again} />}
        {state.at === 'done' && output !== undefined && (
          <a
            class="button main"
            href={outputOf(state.job.job_id)}
            download={nameOf(output)}
            aria-label={t('downloadNamed', { name: nameOf(output) })}
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
          <button
            type="button"
            class="bare"
            aria-label={t(task.jobId === undefined ? 'removeNamed' : 'forgetNamed', { name })}
            title={t(task.jobId === undefined ? 'removeNamed' : 'forgetNamed', { name })}
            onClick={() => actions.remove(task)}
          >
            <Icon name="close" />
          </button>
        )}
      </div>
      {isActive(task) && state.at !== 'queued' && <Bar state={state} name={name} />}
      {state.at === 'failed' && <Failed task={task} start={() => actions.start(task)} />}
      {state.at === 'done' && <Warnings warnings={state.job.warnings} />}
      {state.at === 'done' && <Receipt job={state.job} />}
      {state.at === 'done' && shown.value && <Preview job={state.job} before={pieces.length === 1 ? first?.file : undefined} />}
    </li>
  );
}

/** The same files with other settings: those of an earlier visit have to be chosen once more, as this browser keeps none. */
function Again({ task, name, again }: { task: Task; name: string; again: TaskActions['again'] }) {
  if (canStart(task))
    return (
      <button
        type="button"
        class="button"
        aria-label={t('againNamed', { name })}
        title={t('againNamed', { name })}
        onClick={() => again([task])}
      >
        <Icon name="again" />
        {t('again')}
      </button>
    );
  return (
    <label class="button" title={t('againChoose', { name })}>
      <Icon name="again" />
      {t('again')}
      <input
        type="file"
        class="unseen"
        aria-label={t('againChoose', { name })}
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])];
          if (files.length > 0) again([task], files);
        }}
      />
    </label>
  );
}

function Bar({ state, name }: { state: State; name: string }) {
  const share = shareOf(state);
  return <progress max={1} {...(share === undefined ? {} : { value: share })} aria-label={name} />;
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

export const familyName = (family: string): string => {
  const key = `family_${family}`;
  return hasWord(key) ? t(key) : title(family);
};
