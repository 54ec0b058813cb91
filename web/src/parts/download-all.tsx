/** All results in one ZIP: how far it is, a way to stop it, and why there is none. */
import { type Signal, signal } from '@preact/signals';
import { Refusal } from '../api/client.ts';
import { bytes, t } from '../words/words.ts';
import type { Result } from '../work/result.ts';
import { canWrite, MOST_IN_MEMORY, type SaveOutcome } from '../work/sink.ts';
import { bytesIn, type Packed, saveAll } from '../work/zip.ts';
import { sentenceOf } from './failure.ts';
import { Icon } from './icon.tsx';

type State =
  | { readonly at: 'idle' }
  | { readonly at: 'packing'; readonly packed: Packed; readonly of: number; readonly size: number; readonly cancel: AbortController }
  /** @see idsOf */
  | { readonly at: SaveOutcome; readonly of: string }
  | { readonly at: 'failed'; readonly of: string; readonly why: string };

/** By part of the list: a ZIP is packed on while another view is open. */
const states = new Map<string, Signal<State>>();
function stateOf(id: string): Signal<State> {
  const state = states.get(id) ?? signal<State>({ at: 'idle' });
  states.set(id, state);
  return state;
}

const idsOf = (results: readonly Result[]): string => results.map(({ id }) => id).join();

function whyNot(error: unknown, size: number): string {
  if (error instanceof Refusal)
    return error.code === 'ZIP_TOO_LARGE' ? t('zipTooLarge', { most: bytes(MOST_IN_MEMORY) }) : sentenceOf(error).text;
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
    const outcome = await saveAll(results, tell, cancel.signal);
    state.value = outcome === undefined ? { at: 'idle' } : { at: outcome, of: idsOf(results) };
  } catch (error) {
    state.value = cancel.signal.aborted ? { at: 'idle' } : { at: 'failed', of: idsOf(results), why: whyNot(error, size) };
  }
}

/** While it is, it can be stopped, whatever becomes of the list. */
export const isPacking = (id: string): boolean => stateOf(id).value.at === 'packing';

export function DownloadAll({ id, results }: { id: string; results: readonly Result[] }) {
  const state = stateOf(id);
  const now = state.value;
  const packing = now.at === 'packing' ? now : undefined;
  const isTooMuch = packing === undefined && !canWrite(bytesIn(results));
  // A message about other results no longer applies.
  const isOver = now.at !== 'packing' && now.at !== 'idle' && now.of === idsOf(results);
  // One button in one place: it keeps the focus when its meaning changes.
  return (
    <div class={packing === undefined ? 'together' : 'packing'}>
      {isTooMuch && <p class="notice">{t('zipTooLarge', { most: bytes(MOST_IN_MEMORY) })}</p>}
      {packing !== undefined && <p role="status">{t('packing', { n: packing.packed.results, of: packing.of })}</p>}
      {packing !== undefined && (
        <progress max={packing.size} value={packing.packed.bytes} aria-label={t('downloadAll', { n: packing.of })} />
      )}
      <button
        type="button"
        class={`button${packing === undefined ? ' main' : ''}`}
        disabled={isTooMuch}
        onClick={() => (packing === undefined ? void pack(state, results) : packing.cancel.abort())}
      >
        {packing === undefined && <Icon name="down" />}
        {packing === undefined ? t('downloadAll', { n: results.length }) : t('cancel')}
      </button>
      {isOver && now.at !== 'failed' && <p role="status">{t(now.at)}</p>}
      {isOver && now.at === 'failed' && <p role="alert">{now.why}</p>}
    </div>
  );
}
