/**
 * A client in a separate thread, for tests that measure how long the service's event loop is held while it runs in this process: to build a
 * form of 20 MB, and to send it, is not the service's work.
 */
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

export interface Sent {
  readonly url: string;
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly to: string;
  readonly fields: Readonly<Record<string, string>>;
  /** How long a job may take, ms. */
  readonly withinMs: number;
}

interface Ended {
  readonly number: number;
  readonly status: number;
  readonly body: string;
  readonly failed?: string;
}

export interface Sender {
  /** Converts a file, and waits for its end. @returns the last answer @throws when there is none in time */
  send(sent: Sent): Promise<Pick<Ended, 'status' | 'body'>>;
  close(): Promise<void>;
}

export function openSender(): Sender {
  const thread = new Worker(new URL(import.meta.url));
  const waiting = new Map<number, (ended: Ended) => void>();
  let number = 0;
  thread.on('message', (ended: Ended) => {
    waiting.get(ended.number)?.(ended);
    waiting.delete(ended.number);
  });
  return {
    async send(sent) {
      const { promise, resolve } = Promise.withResolvers<Ended>();
      waiting.set(++number, resolve);
      thread.postMessage({ ...sent, number });
      const { failed, ...answer } = await promise;
      if (failed !== undefined) throw new Error(failed);
      return answer;
    },
    close: async () => void (await thread.terminate()),
  };
}

async function send({ url, name, bytes, to, fields, withinMs }: Sent): Promise<Pick<Ended, 'status' | 'body'>> {
  const form = new FormData();
  for (const [field, value] of Object.entries({ to_format: to, ...fields })) form.set(field, value);
  form.set('file', new Blob([new Uint8Array(bytes)]), name);
  const until = Date.now() + withinMs;
  let response = await fetch(`${url}/api/v1/convert`, { method: 'POST', body: form });
  for (;;) {
    const body = await response.text();
    const { data } = JSON.parse(body) as { data?: { status: string; job_id: string } };
    if (response.status !== 200 || data?.status !== 'processing') return { status: response.status, body };
    if (Date.now() > until) throw new Error(`job ${data.job_id} has not ended in ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    response = await fetch(`${url}/api/v1/jobs/${data.job_id}`);
  }
}

if (!isMainThread)
  parentPort?.on('message', ({ number, ...sent }: Sent & Pick<Ended, 'number'>) => {
    send(sent).then(
      (answer) => parentPort?.postMessage({ number, ...answer }),
      (error: unknown) => parentPort?.postMessage({ number, status: 0, body: '', failed: String(error) }),
    );
  });
