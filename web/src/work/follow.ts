/** Follows a job to its end: by its events, and by asking where those cannot be had. */
import { ask, at, type ErrorBody, Refusal, sleep } from '../api/client.ts';

/** What became of a property of the source. */
export interface Verdict {
  readonly property: string;
  readonly outcome: 'kept' | 'asAsked' | 'adapted' | 'lost' | 'unknown';
  readonly source?: string;
  readonly result?: string;
}

export interface Job {
  readonly job_id: string;
  readonly status: 'processing' | 'done' | 'error';
  readonly progress?: number;
  readonly output?: {
    readonly filename: string;
    /** The same without what the service adds. */
    readonly save_as?: string;
    readonly size_bytes: number;
    readonly content_type: string;
    readonly files: number;
  };
  readonly text?: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly warnings: readonly { readonly code: string; readonly message: string }[];
  /** Once done, of kinds of files that are measured. */
  readonly fidelity?: { readonly kept: number; readonly changes: readonly Verdict[] };
}

/** What a result is called where it is saved. A service of the version before has one name alone. */
export const nameOf = ({ filename, save_as: saveAs }: Pick<NonNullable<Job['output']>, 'filename' | 'save_as'>): string =>
  saveAs ?? filename;

/** A browser has six connections to a server of HTTP/1.1: the others are for uploads and downloads. */
const MOST_STREAMS = 2;
let streams = 0;

/** @returns the job when it is done @throws Refusal where it failed, expired or was deleted */
export async function follow(id: string, told: (job: Job) => void, cancel: AbortSignal): Promise<Job> {
  for (let asked = 0; ; asked++) {
    const { data } = await ask<Job>(`api/v1/jobs/${id}`, { signal: cancel });
    told(data);
    if (data.status === 'done') return data;
    if (streams < MOST_STREAMS && typeof EventSource === 'function') {
      const last = await listen(id, told, cancel);
      if (last?.error !== undefined) throw new Refusal(last.error);
      if (last?.data?.status === 'done') return last.data;
    }
    // The event stream ended, or there was none.
    await sleep(Math.min(3000, 400 + asked * 200), cancel);
  }
}

const SILENT_MS = 30_000;

interface Told {
  readonly data?: Job;
  readonly error?: ErrorBody;
}

/** @returns the last event; undefined where the stream ended without */
function listen(id: string, told: (job: Job) => void, cancel: AbortSignal): Promise<Told | undefined> {
  streams++;
  const source = new EventSource(at(`api/v1/jobs/${id}/events`));
  let silent: ReturnType<typeof setTimeout>;
  return new Promise<Told | undefined>((resolve, reject) => {
    // A connection that has silently died tells nothing: then the job is asked after.
    const heard = () => {
      clearTimeout(silent);
      silent = setTimeout(() => resolve(undefined), SILENT_MS);
    };
    heard();
    const end = (event: MessageEvent<string>) => resolve(JSON.parse(event.data) as Told);
    source.addEventListener('progress', (event) => {
      heard();
      const { data } = JSON.parse((event as MessageEvent<string>).data) as Told;
      if (data !== undefined) told(data);
    });
    source.addEventListener('done', (event) => end(event as MessageEvent<string>));
    source.addEventListener('failed', (event) => end(event as MessageEvent<string>));
    source.addEventListener('error', () => resolve(undefined));
    cancel.addEventListener('abort', () => reject(cancel.reason as Error), { once: true });
  }).finally(() => {
    clearTimeout(silent);
    streams--;
    source.close();
  });
}
