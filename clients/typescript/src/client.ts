/** A file to another format in one call: uploads, converts, waits, and reads the result, over connections that may break. */
import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from './api.gen.ts';
import { download } from './download.ts';
import { FilemillError } from './error.ts';
import { pause, retryAfterMs, retrying, type Send } from './retry.ts';
import { createUpload, deleteUpload, sendPieces } from './upload.ts';

type Job = components['schemas']['Job'];

/** A file with its name, or bytes that `filename` names. */
export type Source = File | Blob | Uint8Array<ArrayBuffer>;

export interface ClientOptions {
  /** Where the service is, such as `https://files.example.org`. */
  readonly baseUrl: string;
  /** By default that of the platform. */
  readonly fetch?: typeof fetch;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How often a request is sent at most, where that is safe; 6 unless set. */
  readonly tries?: number;
  /** How long one try may take until its answer begins, ms; two minutes unless set. */
  readonly tryMs?: number;
  /** Larger files are uploaded in pieces of this size, bytes; 8 MiB unless set. */
  readonly pieceBytes?: number;
}

export interface ConvertOptions {
  /** Needed where the source has no name: formats are told by content, and results are named after it. */
  readonly filename?: string;
  /** Options of the conversion, such as `{ pages: '1-3' }`. */
  readonly options?: Readonly<Record<string, string | number | boolean>>;
  /** The same key with the same content is the same job, also from another process, for two hours. A random one unless set. */
  readonly idempotencyKey?: string;
  /** An upload of the same file to go on with, begun perhaps by another process. */
  readonly uploadId?: string;
  /** Told the id of a new upload, for a process that may have to go on. */
  readonly onUpload?: (uploadId: string) => void;
  readonly onJob?: (job: Job) => void;
  /** How long the job is waited for, ms; an hour unless set. */
  readonly waitMs?: number;
  /** Ends the wait for the job, which goes on. */
  readonly signal?: AbortSignal;
}

export interface Converted {
  readonly job: Job;
  readonly filename: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** The result; a connection that breaks is gone on with. */
  stream(signal?: AbortSignal): ReadableStream<Uint8Array>;
  blob(signal?: AbortSignal): Promise<Blob>;
  /** Deletes the job and its files, which the service otherwise does after two hours. */
  delete(signal?: AbortSignal): Promise<void>;
}

export interface Filemill {
  /** Every request of the API, in the types of its document; repeated where that is safe. */
  readonly api: Client<paths>;
  /** @param to format, such as `pdf` @throws FilemillError where it is refused or fails · the reason of `signal` */
  convert(source: Source, to: string, options?: ConvertOptions): Promise<Converted>;
}

/** The slowest line on which a file is sent in one piece, bytes a ms. */
const SLOWEST = 16;
/** The longest pause between two looks at a job, ms. */
const MOST_POLL_MS = 10_000;

export function createFilemill(client: ClientOptions): Filemill {
  const { baseUrl, headers = {}, tries = 6, tryMs = 120_000, pieceBytes = 8 << 20 } = client;
  const root = baseUrl.replace(/\/+$/, '');
  const plain = client.fetch ?? fetch;
  const withHeaders: typeof fetch = (input, init) => {
    const request = new Request(input, init);
    for (const [name, value] of Object.entries(headers)) request.headers.set(name, value);
    return plain(request);
  };
  const send = retrying({ fetch: withHeaders, tries, tryMs });
  const api = createClient<paths>({ baseUrl: root, fetch: (request) => send(request) });

  return {
    api,
    async convert(source, to, options = {}) {
      const { idempotencyKey = randomKey(), waitMs = 3_600_000, onJob } = options;
      const over = AbortSignal.timeout(waitMs);
      const signal = options.signal === undefined ? over : AbortSignal.any([options.signal, over]);
      const { file, filename } = named(source, options.filename);
      const form = new FormData();
      for (const [name, value] of Object.entries({ ...options.options, to_format: to })) form.set(name, String(value));
      const uploads = { send, fetch: withHeaders, uploadsUrl: `${root}/api/v1/uploads`, pieceBytes, pieceMs: tryMs, signal };
      let created: string | undefined;
      if (file.size <= pieceBytes && options.uploadId === undefined) form.set('file', file, filename);
      else {
        const id = options.uploadId ?? (await createUpload(uploads, file, filename));
        if (options.uploadId === undefined) {
          created = id;
          options.onUpload?.(id);
        }
        await sendPieces(uploads, id, file);
        form.set('upload_id', id);
      }
      const asked = new Request(`${root}/api/v1/convert`, {
        method: 'POST',
        body: form,
        headers: { 'idempotency-key': idempotencyKey },
        signal,
      });
      const moreMs = created === undefined ? file.size / SLOWEST : 0;
      const first = await send(asked, { moreMs });
      if (created !== undefined) await deleteUpload(uploads, created);
      let { job, response } = await jobIn(first);
      onJob?.(job);
      const self = `${root}/api/v1/jobs/${job.job_id}`;
      while (job.status === 'processing') {
        await pause(Math.min(MOST_POLL_MS, retryAfterMs(response) || 1_000), signal);
        ({ job, response } = await jobIn(await send(new Request(self, { signal }))));
        onJob?.(job);
      }
      return converted(send, root, job);
    },
  };
}

/** @throws FilemillError, also where the job has failed */
async function jobIn(response: Response): Promise<{ job: Job; response: Response }> {
  if (!response.ok) throw await FilemillError.from(response);
  const { data } = (await response.json()) as { data: Job };
  return { job: data, response };
}

const NEVER = new AbortController().signal;

/** Browsers have `randomUUID` over HTTPS alone. */
const randomKey = (): string => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

function converted(send: Send, root: string, job: Job): Converted {
  if (job.output === undefined) throw new Error('The job is done, and has no output.');
  const { filename, content_type: contentType, size_bytes: sizeBytes } = job.output;
  const self = `${root}/api/v1/jobs/${job.job_id}`;
  const stream = (signal = NEVER) => download(send, `${self}/output`, sizeBytes, signal);
  return {
    job,
    filename,
    contentType,
    sizeBytes,
    stream,
    blob: (signal) => new Response(stream(signal), { headers: { 'content-type': contentType } }).blob(),
    async delete(signal = NEVER) {
      const response = await send(new Request(self, { method: 'DELETE', signal }));
      // It has expired meanwhile.
      if (!response.ok && response.status !== 404 && response.status !== 410) throw await FilemillError.from(response);
    },
  };
}

function named(source: Source, filename?: string): { file: Blob; filename: string } {
  const file = source instanceof Blob ? source : new Blob([source]);
  return { file, filename: filename ?? (source instanceof File ? source.name : 'file') };
}
