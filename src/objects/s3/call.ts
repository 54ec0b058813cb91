/** Requests to S3: each under a time limit, tried again where that may help, its failure told without names, addresses or keys. */
import { type IncomingMessage, request as overHttp, type RequestOptions } from 'node:http';
import { request as overHttps } from 'node:https';
import type { Socket } from 'node:net';
import { pipeline, Transform } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, type ClientOptions } from 'minio';
import { unlessAborted } from '../../streams/abort.ts';
import type { S3Settings } from '../settings.ts';
import { Missing, StoreFull, Unreachable } from '../store.ts';
import { type Credentials, credentialsOf, NoCredentials, type S3Access } from './credentials.ts';

/**
 * One thing asked of the store, in words that end a sentence: "the object store did not …". What is signed holds no longer than the
 * credentials it is signed with.
 */
export type S3Call = <T>(what: string, ask: (s3: Client, credentials: Credentials) => Promise<T>, signal?: AbortSignal) => Promise<T>;

/** @param origin of the service @returns a connection to it, with TLS where it speaks that */
export type ConnectOrigin = (origin: string, signal: AbortSignal) => Promise<Socket>;

/** Answers that are read as a whole, bytes: a listing has 1,000 keys of 1,024 bytes and their particulars. */
const MOST_ANSWER_BYTES = 4 << 20;

const TRIES = 3;
/** Before the second try, ms; four times as long before the third. */
const PAUSE_MS = 200;

/** HTTP statuses that are worth a retry. The library drops the bodies of such answers; its own retries, which it logs to the console, are off. */
const TRANSIENT_STATUSES = new Set([408, 429, 499, 500, 502, 503, 504, 520]);
const TRANSIENT_CODES = /^(ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH)$/;
/** Codes of MinIO, of the quota of a MinIO bucket, and of Ceph. */
const FULL_CODES = new Set(['XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded', 'QuotaExceeded']);

/** What S3 answers to credentials that have expired or were exchanged, among other reasons; of a HEAD nothing else is heard. */
const REFUSED = new Set([400, 401, 403]);

/** The store did not do what it was asked, and may yet. */
export class S3Failure extends Unreachable {
  override readonly name = 'S3Failure';
  /** S3's own (API reference, "Error responses") or the system's. */
  readonly code: string;
  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/**
 * @param connect how a service is reached that is not our own; its answers are not trusted to be of any size
 * @param limitMs for one call with all its tries, ms; the body of what is read is not under it
 * @throws (each call) Missing · StoreFull · the signal's reason · S3Failure
 */
export function s3Calls(settings: S3Access, limitMs: number, connect?: ConnectOrigin): S3Call {
  const source = credentialsOf(settings);
  return async (what, ask, signal) => {
    signal?.throwIfAborted();
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), limitMs);
    const guard = signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]);
    try {
      for (let tried = 1; ; tried++) {
        const seen: Seen = { status: undefined };
        let credentials: Credentials | undefined;
        try {
          const current = await unlessAborted(source.get(), guard);
          credentials = current;
          return await ask(clientUnder(settings, current, guard, seen, connect), current);
        } catch (error) {
          signal?.throwIfAborted();
          if (limit.signal.aborted) throw new S3Failure(`the object store did not ${what} within ${limitMs / 1_000} s`, 'ETIMEDOUT');
          if (tried === TRIES) throw told(what, error, seen);
          const refused = REFUSED.has(seen.status ?? 0) ? credentials : undefined;
          const replaced = refused !== undefined && (await unlessAborted(source.replace(refused), guard).catch(() => false));
          if (!replaced && !isTransient(error, seen)) throw told(what, error, seen);
        }
        // An abort ends the pause early; the next try throws.
        await pause(PAUSE_MS * 4 ** (tried - 1) * (1 + Math.random()), undefined, { signal: guard }).catch(() => {});
      }
    } finally {
      clearTimeout(timer);
    }
  };
}

interface Seen {
  /** HTTP status of the last answer: the library does not expose it. */
  status: number | undefined;
}

/** The library knows no AbortSignal: a client for one call, whose transport does. It is only a bag of settings; connections are the process's. */
function clientUnder(
  { endpoint, region, pathStyle }: S3Settings,
  credentials: Credentials,
  signal: AbortSignal,
  seen: Seen,
  connect: ConnectOrigin | undefined,
): Client {
  const { protocol, hostname, port } = new URL(endpoint);
  const useSSL = protocol === 'https:';
  const transport = {
    request: (options: RequestOptions, heard: (response: IncomingMessage) => void) => {
      const answered = (response: IncomingMessage) => {
        seen.status = response.statusCode;
        // No other code reads it, and the connection would wait for a reader.
        if (TRANSIENT_STATUSES.has(response.statusCode ?? 0)) response.resume();
        heard(connect === undefined || isObject(options, response) ? response : bounded(response));
      };
      if (connect === undefined) return (useSSL ? overHttps : overHttp)({ ...options, signal }, answered);
      const { host = hostname, port: at } = options;
      const origin = new URL(`${protocol}//${host}${at ? `:${at}` : ''}`).origin;
      return overHttp(
        {
          ...options,
          // TLS is on the connection already.
          protocol: 'http:',
          agent: undefined,
          signal,
          createConnection: (_, done) => {
            connect(origin, signal).then(
              (socket) => done(null, socket),
              (error: Error) => done(error, undefined as never),
            );
            return undefined;
          },
        },
        answered,
      );
    },
  } as unknown as NonNullable<ClientOptions['transport']>;
  return new Client({
    endPoint: hostname.replace(/^\[|\]$/g, ''),
    ...(port === '' ? {} : { port: Number(port) }),
    useSSL,
    // Without it, the library would request the region first.
    region,
    accessKey: credentials.accessKeyId,
    secretKey: credentials.secretAccessKey,
    ...(credentials.sessionToken === undefined ? {} : { sessionToken: credentials.sessionToken }),
    pathStyle,
    transport,
    retryOptions: { disableRetry: true },
  });
}

/** The content of an object, which the caller bounds. */
const isObject = ({ method, path }: RequestOptions, { statusCode = 0 }: IncomingMessage): boolean =>
  method === 'GET' && statusCode < 300 && !String(path).includes('?');

/** The same answer, of which not more can be read than is wanted of any: the library reads it into memory. */
function bounded(response: IncomingMessage): IncomingMessage {
  let bytes = 0;
  const passed = new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length;
      done(bytes > MOST_ANSWER_BYTES ? new Error('the answer is too long') : null, chunk);
    },
  });
  pipeline(response, passed, () => {});
  const { statusCode, statusMessage, headers } = response;
  return Object.assign(passed, { statusCode, statusMessage, headers }) as unknown as IncomingMessage;
}

const codeOf = (error: unknown): string => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  return /^\w{1,64}$/.test(code) ? code : '';
};

const isTransient = (error: unknown, { status = 0 }: Seen): boolean =>
  error instanceof NoCredentials || TRANSIENT_STATUSES.has(status) || TRANSIENT_CODES.test(codeOf(error));

/** The library's errors carry the key, and of a refused signature what was signed: none of that goes on. */
function told(what: string, error: unknown, { status }: Seen): Error {
  if (error instanceof NoCredentials)
    return new S3Failure(`the request to the object store failed (${what}): ${error.message}`, error.name);
  const code = codeOf(error) || (error instanceof Error ? error.name : '');
  if (code === 'NoSuchKey' || code === 'NotFound') return new Missing('the object does not exist');
  if (FULL_CODES.has(code) || status === 507) return new StoreFull('no space is left for objects');
  if (status === undefined) return new S3Failure(`the object store could not be reached to ${what}: ${code}`, code);
  return new S3Failure(`the object store did not ${what}: ${code} (HTTP ${status})`, code);
}
