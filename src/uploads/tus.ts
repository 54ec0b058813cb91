/** The tus protocol (https://tus.io/protocols/resumable-upload, 1.0.0) over our uploads: the library speaks it, and what it stores goes here. */
import type { Readable } from 'node:stream';
import { DataStore, Server, Upload } from '@tus/server';
import { Failure } from '../errors.ts';
import { uploadLocks } from './locks.ts';
import { MAX_METADATA } from './store.ts';
import { type Begin, receivedBytes, type Uploads } from './uploads.ts';

export const TUS_VERSION = '1.0.0';
export const TUS_EXTENSIONS = ['creation', 'creation-with-upload', 'expiration', 'termination'] as const;

/** The headers that a request of the protocol may have; the library is shown no others. */
const REQUEST_HEADERS = [
  'tus-resumable',
  'content-length',
  'content-type',
  'upload-concat',
  'upload-defer-length',
  'upload-length',
  'upload-metadata',
  'upload-offset',
];

/** How long a request goes on that another one asked to come to an end, ms: its connection may be dead, or only slow. */
const DRAIN_MS = 1_000;

export interface TusRequest {
  readonly method: string;
  /** Absolute: what is created lies below it. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Begun only when the request is found to be right. Ends where the connection does: what came is kept. */
  readonly body: AsyncIterable<Uint8Array> | undefined;
  readonly client: Begin['client'];
}

export interface TusAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Why it is refused, in the library's words. */
  readonly says: string;
  /** What was thrown on the way, where that is why. */
  readonly thrown: unknown;
}

export type Tus = (request: TusRequest) => Promise<TusAnswer>;

/** What is known of a request beside what the library sees. */
interface Asking {
  readonly client: Begin['client'];
  thrown?: unknown;
}

/** @param newId 128 random bits in hex */
export function tusOver(uploads: Uploads, maxFileBytes: number, newId: () => string): Tus {
  const askings = new WeakMap<Request, Asking>();
  const server = new Server({
    path: '/',
    datastore: new Pieces(uploads),
    maxSize: maxFileBytes,
    locker: uploadLocks(),
    lockDrainTimeout: DRAIN_MS,
    namingFunction: () => `upl_${newId()}`,
    getFileIdFromRequest: (_request, lastPath) => lastPath,
    generateUrl: ({ url }, { id }) => `${url}/${id}`,
    async onUploadCreate(request, { id, size, metadata }) {
      const { client } = askings.get(request) ?? {};
      if (client === undefined || size === undefined) throw new Error('an upload that nobody asked for');
      if ((request.headers.get('upload-metadata') ?? '').length > MAX_METADATA)
        throw new Failure('BAD_REQUEST', { says: `The header Upload-Metadata is longer than ${MAX_METADATA} bytes.` });
      await uploads.begin({ id, client, sizeBytes: size, filename: metadata?.['filename'] ?? metadata?.['name'] ?? '', metadata });
      return {};
    },
    onResponseError(request, error) {
      const asking = askings.get(request);
      if (asking !== undefined) asking.thrown = error;
      return undefined;
    },
  });

  return async ({ method, url, headers, body, client }) => {
    const shown = REQUEST_HEADERS.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value] as [string, string]] : [];
    });
    const request = new Request(url, {
      method,
      headers: shown,
      ...(body === undefined ? {} : { body: ReadableStream.from(body), duplex: 'half' }),
    });
    const asking: Asking = { client };
    askings.set(request, asking);
    const response = await server.handleWeb(request);
    return { status: response.status, headers: response.headers, says: (await response.text()).trim(), thrown: asking.thrown };
  };
}

class Pieces extends DataStore {
  override extensions = [...TUS_EXTENSIONS];
  readonly #uploads: Uploads;

  constructor(uploads: Uploads) {
    super();
    this.#uploads = uploads;
  }

  override async getUpload(id: string): Promise<Upload> {
    const record = await this.#uploads.find(id);
    const { sizeBytes: size, metadata } = record;
    return new Upload({ id, size, offset: receivedBytes(record), ...(metadata === undefined ? {} : { metadata }) });
  }

  override async write(content: Readable, id: string, offset: number): Promise<number> {
    return receivedBytes(await this.#uploads.append(id, offset, content));
  }

  override async remove(id: string): Promise<void> {
    await this.#uploads.find(id);
    await this.#uploads.remove(id);
  }
}
