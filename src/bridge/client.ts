/** A client of the REST API: resumable uploads, jobs and downloads. It waits as long as the server asks, and continues after a lost connection. */
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream, openAsBlob } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fidelity } from '../contracts/api/job.ts';
import { isRecord } from '../contracts/json.ts';
import { dataOf, parsed, ServerRefusal, serverRefusal, serverUnreachable } from './refusal.ts';
import { askServer, type Server } from './server.ts';

export interface ClientContext {
  readonly signal: AbortSignal;
  /** Called before a wait. */
  readonly onWait: (seconds: number, why: string) => void;
}

export interface FinishedJob {
  readonly id: string;
  readonly warnings: readonly { readonly code: string; readonly message: string }[];
  readonly engine?: { readonly name: string; readonly version: string };
  readonly fidelity?: Fidelity;
  readonly output?: { readonly filename: string; readonly size_bytes: number; readonly sha256: string };
  /** The results of a recipe. */
  readonly outputs?: readonly { readonly name: string; readonly filename: string; readonly size_bytes: number; readonly sha256: string }[];
  readonly text?: string;
}

export interface RestClient {
  /** @throws ServerRefusal `SERVER_UNREACHABLE` */
  check(signal: AbortSignal): Promise<void>;
  /** @returns the upload's id */
  upload(path: string, name: string, sizeBytes: number, context: ClientContext, onProgress: (fraction: number) => void): Promise<string>;
  /** @param route after /api/v1/ @returns the job's id */
  submit(route: string, body: object, context: ClientContext): Promise<string>;
  /** Waits for a job's end. @throws ServerRefusal why it failed */
  follow(job: string, context: ClientContext, onProgress: (fraction: number) => void): Promise<FinishedJob>;
  /** Writes a job's output to a path where nothing is yet. @param name of one of several outputs, which `job.output` then is */
  download(job: FinishedJob, path: string | Buffer, context: ClientContext, name?: string): Promise<void>;
  /** Deletes a job or an upload; what cannot be deleted expires. */
  forget(kind: 'jobs' | 'uploads', id: string): Promise<void>;
}

/** Bytes in one request of an upload: what a lost connection costs at most, and how fine its progress is. */
const PIECE_BYTES = 8 << 20;
/** Longest answer to anything but an upload or a download, ms: the server answers within 25 s. */
const ANSWER_MS = 60_000;
/** One piece of an upload, or one request for an output, which the next one continues, ms. */
const TRANSFER_MS = 300_000;
/** How long a server that cannot be reached is tried again, ms. */
const LOST_MS = 5 * 60_000;
/** Longest wait that the client accepts, s. If the server asks for more, as a daily limit may, the client reports the server's error. */
const LONGEST_WAIT_S = 3_600;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
const FORGET_MS = 5_000;
/** Statuses that say to come back later. */
const PATIENT = new Set([429, 502, 503, 504]);

export function restClient(server: Server): RestClient {
  const at = (path: string) => `/api/v1/${path}`;

  /**
   * Asks until there is an answer that is not "later".
   * @param ask is called again if it throws an error of the network
   */
  async function patiently<T>(ask: () => Promise<T | Later>, { signal, onWait }: ClientContext): Promise<T> {
    let lostSince: number | undefined;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(LONGEST_PAUSE_MS, pause * 2)) {
      signal.throwIfAborted();
      let waitMs: number;
      let why: string;
      try {
        const answer = await ask();
        if (!(answer instanceof Later)) return answer;
        if (answer.seconds !== undefined && answer.seconds > LONGEST_WAIT_S) throw answer.refusal;
        [waitMs, why] = [answer.seconds === undefined ? pause : answer.seconds * 1000, answer.refusal.message];
        // A proxy whose server is gone answers too, and names no time.
        if (answer.seconds === undefined) lostSince ??= performance.now();
        else lostSince = undefined;
        if (lostSince !== undefined && performance.now() - lostSince > LOST_MS) throw answer.refusal;
      } catch (error) {
        if (signal.aborted || error instanceof ServerRefusal || !isNetworkError(error)) throw error;
        lostSince ??= performance.now();
        if (performance.now() - lostSince > LOST_MS) throw serverUnreachable(server, error);
        [waitMs, why] = [pause, 'the connection was lost'];
      }
      onWait(Math.ceil(waitMs / 1000), why);
      await sleep(waitMs, undefined, { signal });
    }
  }

  const send = (path: string, init: Parameters<typeof askServer>[2], signal: AbortSignal, ms = ANSWER_MS): Promise<Response> =>
    askServer(server, path, { ...init, signal: AbortSignal.any([signal, AbortSignal.timeout(ms)]) });
  const laterBy = async (response: Response): Promise<Later> => {
    const said = Number(response.headers.get('retry-after') ?? Number.NaN);
    return new Later(Number.isFinite(said) && said >= 0 ? said : undefined, await serverRefusal(server, response));
  };

  const offsetOf = async (id: string, signal: AbortSignal): Promise<number | Later> => {
    const response = await send(at(`uploads/${id}`), { method: 'HEAD', headers: TUS }, signal);
    if (isLater(response)) return laterBy(response);
    if (!response.ok) throw await serverRefusal(server, response);
    return Number(response.headers.get('upload-offset'));
  };

  return {
    async check(signal) {
      const response = await send(at('health'), {}, signal, 15_000).catch((error: unknown) => {
        throw signal.aborted ? error : serverUnreachable(server, error);
      });
      // It is asked again, as every request is.
      if (isLater(response)) return void (await response.body?.cancel());
      await dataOf(server, response);
    },

    async upload(path, name, sizeBytes, context, onProgress) {
      const { signal } = context;
      const file = await openAsBlob(path);
      const metadata = `filename ${Buffer.from(name).toString('base64')}`;
      const id = await patiently(async () => {
        const headers = { ...TUS, 'Upload-Length': String(sizeBytes), 'Upload-Metadata': metadata };
        const response = await send(at('uploads'), { method: 'POST', headers }, signal);
        if (isLater(response)) return laterBy(response);
        if (response.status !== 201) throw await serverRefusal(server, response);
        await response.body?.cancel();
        return idIn(response.headers.get('location'));
      }, context);
      try {
        for (let offset = 0; offset < sizeBytes; onProgress(offset / sizeBytes)) {
          let isSure = true;
          offset = await patiently(async () => {
            // After a failure only the server knows what has arrived.
            const from = isSure ? offset : await offsetOf(id, signal);
            if (from instanceof Later || from === sizeBytes) return from;
            isSure = false;
            const response = await send(
              at(`uploads/${id}`),
              {
                method: 'PATCH',
                headers: { ...TUS, 'Upload-Offset': String(from), 'Content-Type': 'application/offset+octet-stream' },
                body: file.slice(from, from + PIECE_BYTES),
              },
              signal,
              TRANSFER_MS,
            );
            if (isLater(response) || response.status === 409) return laterBy(response);
            if (response.status !== 204) throw await serverRefusal(server, response);
            return Number(response.headers.get('upload-offset'));
          }, context);
        }
      } catch (error) {
        await this.forget('uploads', id);
        throw error;
      }
      return id;
    },

    async submit(route, body, context) {
      const key = randomUUID();
      return patiently(async () => {
        const headers = { 'content-type': 'application/json', 'idempotency-key': key, prefer: 'respond-async' };
        const response = await send(at(route), { method: 'POST', headers, body: JSON.stringify(body) }, context.signal);
        if (isLater(response)) return laterBy(response);
        return String((await dataOf(server, response))['job_id']);
      }, context);
    },

    async follow(job, context, onProgress) {
      const { signal } = context;
      let pollMs = 1_000;
      for (;;) {
        // The event stream ends when the job does. Without a stream, the client polls.
        const heard = await events(server, at(`jobs/${job}/events`), signal, onProgress).catch(() => false);
        signal.throwIfAborted();
        const found = await patiently(async () => {
          const response = await send(at(`jobs/${job}`), {}, signal);
          if (isLater(response)) return laterBy(response);
          pollMs = Math.max(1, Number(response.headers.get('retry-after') ?? 1)) * 1000;
          return (await dataOf(server, response)) as unknown as FinishedJob & { status: string; progress?: number };
        }, context);
        if (found.status !== 'processing') return { ...found, id: job };
        if (found.progress !== undefined) onProgress(found.progress / 100);
        if (!heard) await sleep(pollMs, undefined, { signal });
      }
    },

    async download({ id, output, text }, path, context, name) {
      if (text !== undefined) return pipeline(Readable.from([text]), createWriteStream(path, { flags: 'wx' }));
      if (output === undefined) throw new ServerRefusal('INTERNAL_ERROR', 'The job has no output.');
      await writeFile(path, '', { flag: 'wx' });
      await patiently(async () => {
        // What was handed to a stream that failed need not have reached the disk.
        const { size: written } = await stat(path);
        if (written === output.size_bytes) return true;
        const headers = written === 0 ? {} : { range: `bytes=${written}-` };
        const response = await send(
          at(name === undefined ? `jobs/${id}/output` : `jobs/${id}/outputs/${name}`),
          { headers },
          context.signal,
          TRANSFER_MS,
        );
        if (isLater(response)) return laterBy(response);
        if (!response.ok || response.body === null) throw await serverRefusal(server, response);
        const start = response.status === 206 ? written : 0;
        await pipeline(Readable.fromWeb(response.body), createWriteStream(path, { flags: start === 0 ? 'w' : 'r+', start })).catch(
          async (error: unknown) => {
            // If this request wrote anything, the next one continues from there.
            if ((await stat(path)).size > start && !context.signal.aborted) return;
            throw error;
          },
        );
        return (await stat(path)).size === output.size_bytes ? true : new Later(0, interrupted());
      }, context);
      const hash = createHash('sha256');
      await pipeline(createReadStream(path), hash, { signal: context.signal });
      if (hash.digest('hex') === output.sha256) return undefined;
      await rm(path, { force: true });
      throw new ServerRefusal('INTERNAL_ERROR', 'The output was damaged on its way: try again.');
    },

    async forget(kind, id) {
      const response = await askServer(server, at(`${kind}/${id}`), {
        method: 'DELETE',
        signal: AbortSignal.timeout(FORGET_MS),
      }).catch(() => undefined);
      await response?.body?.cancel().catch(() => undefined);
    },
  };
}

const TUS = { 'Tus-Resumable': '1.0.0' };

/** The server asks to come back. */
class Later {
  readonly seconds: number | undefined;
  readonly refusal: ServerRefusal;
  constructor(seconds: number | undefined, refusal: ServerRefusal) {
    this.seconds = seconds;
    this.refusal = refusal;
  }
}

/** A ban also says how long it lasts. */
const isLater = ({ status, headers }: Response): boolean => PATIENT.has(status) || (status === 403 && headers.has('retry-after'));

function idIn(location: string | null): string {
  const id = /\/(upl_[0-9a-f]{32})$/.exec(location ?? '')?.[1];
  if (id === undefined) throw new ServerRefusal('INTERNAL_ERROR', 'The server did not say where the upload is.');
  return id;
}

const interrupted = (): ServerRefusal =>
  new ServerRefusal('SERVER_UNREACHABLE', 'The connection was lost while the output was downloaded.');

/** What fetch throws for a connection that fails or falls silent. */
const isNetworkError = (error: unknown): boolean =>
  error instanceof Error && (error instanceof TypeError || /^(TimeoutError|AbortError)$/.test(error.name) || 'code' in error);

/** Reads a job's events until it has ended. @returns false where there are none */
async function events(server: Server, path: string, signal: AbortSignal, onProgress: (fraction: number) => void): Promise<boolean> {
  const response = await askServer(server, path, { headers: { accept: 'text/event-stream' }, signal });
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    return false;
  }
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (text + chunk).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      if (/^event: (done|failed)/.test(line)) return true;
      const data = line.startsWith('data:') ? parsed(line.slice('data:'.length)) : undefined;
      if (isRecord(data) && typeof data['progress'] === 'number') onProgress(data['progress'] / 100);
    }
  }
  // A proxy may end a stream that goes on.
  return false;
}
