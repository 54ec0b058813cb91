/** All results in one ZIP: how far it is, a way to stop it, and why there is none. */
import { type Signal, signal } from '@preact/signals';
import { Refusal } from '../api/client.ts';
import { bytes, percent, t } from '../words/words.ts';
import type { Result } from '../work/result.ts';
import { fits, MOST_IN_MEMORY } from '../work/sink.ts';
import type { Task } from '../work/tasks.ts';
import { bytesIn, type Packed, saveAll } from '../work/zip.ts';
import { sentenceOf } from './failure.ts';
import { Icon } from './icon.tsx';

type State =
  | { readonly at: 'idle' | 'saved' }
  | { readonly at: 'packing'; readonly packed: Packed; readonly of: number; readonly size: number; readonly cancel: AbortController }
  | { readonly at: 'failed'; readonly why: string };

/** By list: a ZIP is packed on while another view is open. */
const states = new WeakMap<Signal<readonly Task[]>, Signal<State>>();
function stateOf(tasks: Signal<readonly Task[]>): Signal<State> {
  const state = states.get(tasks) ?? signal<State>({ at: 'idle' });
  states.set(tasks, state);
  return state;
}

function whyNot(error: unknown, size: number): string {
  if (error instanceof Refusal)
    return error.code === 'ZIP_TOO_LARGE' ? t('zipTooLarge', { most: bytes(MOST_IN_MEMORY) }) : sentenceOf(error);
  return error instanceof DOMException && error.name === 'QuotaExceededError' ? t('diskFull', { size: bytes(size) }) : t('notPacked');
}

async function pack(state: Signal<State>, results: readonly Result[]): Promise<void> {
  const cancel = new AbortController();
  const [of, size] = [results.length, bytesIn(results)];
  const tell = (packed: Packed) => {
    state.value = { at: 'packing', packed, of, size, cancel };
  };
  tell({ results: 0, bytes: 0 });
  try {
    state.value = { at: (await saveAll(results, tell, cancel.signal)) ? 'saved' : 'idle' };
  } catch (error) {
    state.value = cancel.signal.aborted ? { at: 'idle' } : { at: 'failed', why: whyNot(error, size) };
  }
}

export function DownloadAll({ tasks, results }: { tasks: Signal<readonly Task[]>; results: readonly Result[] }) {
  const state = stateOf(tasks);
  const now = state.value;
  if (now.at === 'packing') {
    const { packed, of, size, cancel } = now;
    return (
      <div class="packing">
        <p role="status">{t('packing', { n: packed.results, of, percent: percent(size === 0 ? 0 : packed.bytes / size) })}</p>
        <progress max={size} value={packed.bytes} aria-label={t('downloadAll', { n: of })} />
        <button type="button" class="button" onClick={() => cancel.abort()}>
          {t('cancel')}
        </button>
      </div>
    );
  }
  const isTooMuch = !fits(bytesIn(results));
  return (
    <>
      {isTooMuch && <p class="notice">{t('zipTooLarge', { most: bytes(MOST_IN_MEMORY) })}</p>}
      <button type="button" class="button main" disabled={isTooMuch} onClick={() => void pack(state, results)}>
        <Icon name="down" />
        {t('downloadAll', { n: results.length })}
      </button>
      {now.at === 'saved' && <p role="status">{t('packed')}</p>}
      {now.at === 'failed' && <p role="alert">{now.why}</p>}
    </>
  );
}
