/** The tus protocol (https://tus.io/protocols/resumable-upload, 1.0.0): adapts the library's requests and storage to our uploads. */
import type { Readable } from 'node:stream';
import { DataStore, Server, Upload } from '@tus/server';
import { Failure } from '../errors.ts';
import { uploadLocks } from './locks.ts';
import { MAX_METADATA } from './store.ts';
import { type NewUpload, receivedBytes, type Uploads } from './uploads.ts';

export const TUS_VERSION = '1.0.0';
export const TUS_EXTENSIONS = ['creation', 'creation-with-upload', 'expiration', 'termination'] as const;

/** The request headers of the protocol; the library gets no others. */
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

/** How long a request may go on after another asked for its lock, ms: its connection may be dead, or only slow. */
const DRAIN_MS = 1_000;

export interface TusRequest {
  readonly method: string;
  /** Absolute: created uploads get URLs below it. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Read only once the request was found valid. Ends with the connection: the bytes that arrived are kept. */
  readonly body: AsyncIterable<Uint8Array> | undefined;
  readonly client: NewUpload['client'];
}

export interface TusAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The library's reason for a refusal. */
  readonly says: string;
  /** The error that caused the refusal, if any. */
  readonly thrown: unknown;
}

export type Tus = (request: TusRequest) => Promise<TusAnswer>;

/** What we know of a request that the library does not. */
interface RequestContext {
  readonly client: NewUpload['client'];
  thrown?: unknown;
}

/** @param newId 128 random bits in hex */
export function tusOver(uploads: Uploads, maxFileBytes: number, newId: () => string): Tus {
  const contexts = new WeakMap<Request, RequestContext>();
  const server = new Server({
    path: '/',
    datastore: new UploadDataStore(uploads),
    maxSize: maxFileBytes,
    locker: uploadLocks(),
    lockDrainTimeout: DRAIN_MS,
    namingFunction: () => `upl_${newId()}`,
    getFileIdFromRequest: (_request, lastPath) => lastPath,
    generateUrl: ({ url }, { id }) => `${url}/${id}`,
    async onUploadCreate(request, { id, size, metadata }) {
      const { client } = contexts.get(request) ?? {};
      if (client === undefined || size === undefined) throw new Error('an upload without a client or a size');
      if ((request.headers.get('upload-metadata') ?? '').length > MAX_METADATA)
        throw new Failure('BAD_REQUEST', { says: `The header Upload-Metadata is longer than ${MAX_METADATA} bytes.` });
      await uploads.begin({ id, client, sizeBytes: size, filename: metadata?.['filename'] ?? metadata?.['name'] ?? '', metadata });
      return {};
    },
    onResponseError(request, error) {
      const context = contexts.get(request);
      if (context !== undefined) context.thrown = error;
      return undefined;
    },
  });

  return async ({ method, url, headers, body, client }) => {
    const forwarded = REQUEST_HEADERS.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value] as [string, string]] : [];
    });
    const request = new Request(url, {
      method,
      headers: forwarded,
      ...(body === undefined ? {} : { body: ReadableStream.from(body), duplex: 'half' }),
    });
    const context: RequestContext = { client };
    contexts.set(request, context);
    const response = await server.handleWeb(request);
    return { status: response.status, headers: response.headers, says: (await response.text()).trim(), thrown: context.thrown };
  };
}

class UploadDataStore extends DataStore {
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
