/** A result as a stream that goes on where its connection broke. */
import { FilemillError } from './error.ts';
import { backoffMs, pause, type Send } from './retry.ts';

/** Breaks one after another without a byte between them, before it is given up. */
const MOST_BREAKS = 5;
/** A connection without a byte for so long has broken, ms. */
const IDLE_MS = 60_000;

/** @param bytes its whole length @returns a stream that fails with FilemillError, or with why the last connection broke */
export function download(send: Send, url: string, bytes: number, signal: AbortSignal): ReadableStream<Uint8Array> {
  const gone = new AbortController();
  const arriving = chunks(send, url, bytes, AbortSignal.any([signal, gone.signal]));
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await arriving.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      // What is being waited for ends, too.
      gone.abort();
      await arriving.return(undefined).catch(() => {});
    },
  });
}

async function* chunks(send: Send, url: string, bytes: number, signal: AbortSignal): AsyncGenerator<Uint8Array, undefined> {
  let received = 0;
  for (let breaks = 0; received < bytes; ) {
    const headers = received === 0 ? {} : { range: `bytes=${received}-` };
    const connection = new AbortController();
    const response = await send(new Request(url, { headers, signal: AbortSignal.any([signal, connection.signal]) }));
    if (!response.ok || response.body === null) throw await FilemillError.from(response);
    // What stands between may send the whole again.
    let known = response.status === 206 ? 0 : received;
    // Not every browser can iterate over a stream.
    const reader = response.body.getReader();
    try {
      for (let read = await readSoon(reader, connection); !read.done; read = await readSoon(reader, connection)) {
        const fresh = read.value.subarray(known);
        known -= read.value.length - fresh.length;
        if (fresh.length === 0) continue;
        received += fresh.length;
        breaks = 0;
        yield fresh;
      }
      if (received < bytes) throw new Error('The connection ended before the file did.');
    } catch (error) {
      if (signal.aborted || ++breaks >= MOST_BREAKS) throw error;
      await pause(backoffMs(breaks), signal);
    } finally {
      // Where the reader of the whole stream has gone.
      reader.cancel().catch(() => {});
    }
  }
  return undefined;
}

async function readSoon(reader: ReadableStreamDefaultReader<Uint8Array>, connection: AbortController) {
  const timer = setTimeout(() => connection.abort(new Error('The connection stood still.')), IDLE_MS);
  try {
    return await reader.read();
  } finally {
    clearTimeout(timer);
  }
}
