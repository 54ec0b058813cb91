/** How far a task is, and what it became, in a few words. */
import { sourceOf } from '../api/catalog.ts';
import { isLost } from '../api/client.ts';
import { href } from '../route.ts';
import { bytes, change, duration, percent, t, toolName } from '../words/words.ts';
import { now } from '../work/clock.ts';
import { nameOf } from '../work/follow.ts';
import { isActive, type State, type Task } from '../work/tasks.ts';

function progressOf(state: State): string {
  switch (state.at) {
    case 'uploading':
      return t('uploading', { percent: percent(state.share) });
    case 'working':
      return state.percent === undefined ? t('working') : t('workingAt', { percent: percent(state.percent / 100) });
    default:
      return t(state.at);
  }
}

/** A text that became a picture is no smaller or larger one. */
const isOneKind = (source: string, result: string): boolean => {
  const family = sourceOf(source)?.family;
  return family !== undefined && family === sourceOf(result)?.family;
};

/** `24.2 MB → 99.7 kB (99.6 % smaller)`. @param before bytes; 0 where it is not known */
export function SizeChange({ before, after, comparable }: { before: number; after: number; comparable: boolean }) {
  const share = before === 0 ? 0 : (after - before) / before;
  return (
    <span class="sizes">
      {before > 0 ? t('sizes', { before: bytes(before), after: bytes(after) }) : bytes(after)}
      {comparable && Math.abs(share) >= 0.01 && share < 10 && (
        <>
          {' '}
          <span class={share < 0 ? 'good' : ''}>({t(share < 0 ? 'smaller' : 'larger', { percent: change(Math.abs(share)) })})</span>
        </>
      )}
    </span>
  );
}

interface Given {
  readonly task: Task;
  /** Whether it is told aloud when it changes: of many tasks, none is. */
  readonly aloud: boolean;
  /** Whether it says when its files are deleted. */
  readonly expiry: boolean;
}

export function Saying({ task, aloud, expiry }: Given) {
  const { value: state } = task.state;
  const role = aloud ? 'status' : undefined;
  const expires = task.expires.value;
  return (
    <p class="says">
      {task.size > 0 && state.at !== 'done' && <span>{bytes(task.size)}</span>}
      {task.tool !== undefined && <span lang={toolName(task.tool).lang}>{toolName(task.tool).text}</span>}
      {task.tool === undefined && state.at !== 'ready' && <span>→ {task.target.value.toUpperCase()}</span>}
      {state.at === 'done' ? (
        <Done task={task} role={role} />
      ) : (
        <span role={role}>{isActive(task) && isLost.value ? t('offline') : progressOf(state)}</span>
      )}
      {expiry && expires !== undefined && !isActive(task) && (
        <span>{t('expiresIn', { time: duration(expires - now.value, 'short') })}</span>
      )}
    </p>
  );
}

function Done({ task, role }: { task: Task; role: 'status' | undefined }) {
  const { value: state } = task.state;
  if (state.at !== 'done') return null;
  const { output, job_id: id } = state.job;
  const [piece, second] = task.pieces.value;
  return (
    <>
      <span role={role}>
        {output === undefined ? (
          t('done')
        ) : (
          <SizeChange
            before={task.size}
            after={output.size_bytes}
            comparable={piece !== undefined && second === undefined && output.files === 1 && isOneKind(piece.name, nameOf(output))}
          />
        )}
      </span>
      {output !== undefined && output.files > 1 && <span>{t('inZip', { n: output.files })}</span>}
      <a href={href(`/jobs/${id}`)} data-view={`/jobs/${id}`} class="quiet">
        {t('link')}
      </a>
    </>
  );
}
