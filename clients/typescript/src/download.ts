/** A result as a stream that goes on where its connection broke. */
import { FilemillError } from './error.ts';
import { backoffMs, pause, type Send } from './retry.ts';

/** Breaks one after another without a byte between them, before it is given up. */
const MOST_BREAKS = 5;

/** @param bytes its whole length @returns a stream that fails with FilemillError, or with why the last connection broke */
export function download(send: Send, url: string, bytes: number, signal: AbortSignal): ReadableStream<Uint8Array> {
  const arriving = chunks(send, url, bytes, signal);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await arriving.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await arriving.return(undefined);
    },
  });
}

async function* chunks(send: Send, url: string, bytes: number, signal: AbortSignal): AsyncGenerator<Uint8Array, undefined> {
  let received = 0;
  for (let breaks = 0; received < bytes; ) {
    const headers = received === 0 ? {} : { range: `bytes=${received}-` };
    const response = await send(new Request(url, { headers, signal }));
    if (!response.ok || response.body === null || (received > 0 && response.status !== 206)) throw await FilemillError.from(response);
    // Not every browser can iterate over a stream.
    const reader = response.body.getReader();
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        received += read.value.length;
        breaks = 0;
        yield read.value;
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
