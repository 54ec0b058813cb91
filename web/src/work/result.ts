/** Results: their addresses, and their bytes. */
import { at, backOff, pause, Refusal, waitFor, waitOf } from '../api/client.ts';

/** Statuses that say so; for a requested rest of a file, also the status of a file that has changed. */
const GONE = [200, 404, 410, 416];

/** A browser saves it by the name that the header has. */
export const outputOf = (id: string): string => at(`api/v1/jobs/${id}/output?name=source`);

export interface Result {
  readonly id: string;
  readonly name: string;
  readonly bytes: number;
  /** Creation time of its job. */
  readonly created: string;
}

/** A result in pieces. Where the connection is lost, it goes on behind the last byte that came. @throws Refusal `RESULT_GONE` @throws Error where the answer is of no use */
export async function* bytesOf({ id, name, bytes }: Result, cancel: AbortSignal): AsyncGenerator<Uint8Array> {
  let [came, etag, lost] = [0, '', 0];
  for (;;) {
    const response = await fetch(outputOf(id), {
      signal: cancel,
      headers: came === 0 ? {} : { range: `bytes=${came}-`, 'if-range': etag },
    }).catch(unlessCancelled);
    const wait = response === undefined ? undefined : waitOf(response, {});
    if (wait !== undefined) {
      await response?.body?.cancel();
      await waitFor(wait.why, wait.ms, cancel);
      continue;
    }
    if (response !== undefined) {
      if (response.status !== (came === 0 ? 200 : 206)) {
        await response.body?.cancel();
        if (GONE.includes(response.status)) throw new Refusal({ code: 'RESULT_GONE', message: '', details: { name } });
        throw new Error(`status ${response.status}`);
      }
      if (pause.value?.why === 'lost') pause.value = undefined;
      etag = response.headers.get('etag') ?? '';
      const reader = response.body?.getReader();
      try {
        for (;;) {
          const piece = await reader?.read().catch(unlessCancelled);
          if (piece?.value === undefined) break;
          [came, lost] = [came + piece.value.byteLength, 0];
          yield piece.value;
        }
      } finally {
        // The ZIP may have ended in between: nothing reads on.
        await reader?.cancel().catch(() => {});
      }
      if (came >= bytes) return;
    }
    await waitFor('lost', backOff(lost++), cancel);
  }

  function unlessCancelled(error: unknown): undefined {
    if (cancel.aborted) throw error;
  }
}
