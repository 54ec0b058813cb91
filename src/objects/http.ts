/** Transfers by presigned URL. The URLs are secrets: no error message contains one. */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { Readable } from 'node:stream';
import { AccessDenied, Missing, StoreFull, TooLarge, Unreachable, type Written } from './store.ts';
import { pour } from './write.ts';

/** A transfer that moves no byte for this long has failed, ms. */
const STALL_MS = 60_000;

/** @throws Missing · AccessDenied · TooLarge, before the first byte where the length is declared · an Error that names the status */
export function fetchTo(url: string, file: FileHandle, maxBytes: number, signal: AbortSignal): Promise<void> {
  return unlessStalled(signal, async (guarded, moved) => {
    // With a content coding, the declared length would not be the file's.
    const response = await exchange(url, { signal: guarded, headers: { 'accept-encoding': 'identity' } });
    try {
      await expectOk(response);
      const declared = Number(response.headers['content-length'] ?? Number.NaN);
      if (declared > maxBytes) throw new TooLarge(declared);
      const { sizeBytes } = await pour(Readable.from(received(response, moved)), (block) => file.writeFile(block), maxBytes, guarded);
      if (!Number.isNaN(declared) && sizeBytes !== declared)
        throw new Unreachable(`the object ended after ${sizeBytes} of ${declared} bytes`);
    } finally {
      // No effect on one that was read to its end.
      response.destroy();
    }
  });
}

/**
 * @param sizeBytes of the file: S3 takes no upload of undeclared length
 * @throws StoreFull · AccessDenied · an Error that names the status
 */
export function sendFrom(file: FileHandle, sizeBytes: number, url: string, signal: AbortSignal): Promise<Written> {
  return unlessStalled(signal, async (guarded, moved) => {
    const hash = createHash('sha256');
    const content = sizeBytes === 0 ? [] : file.createReadStream({ autoClose: false, start: 0, end: sizeBytes - 1 });
    const note = (chunk: Uint8Array) => {
      hash.update(chunk);
      moved();
    };
    const headers = { 'content-length': String(sizeBytes) };
    const response = await exchange(url, { method: 'PUT', signal: guarded, headers }, Readable.from(observed(content, note)));
    try {
      await expectOk(response);
      // Read to its end, so that the next transfer has the connection.
      for await (const chunk of received(response, moved)) void chunk;
    } finally {
      response.destroy();
    }
    return { sizeBytes, sha256: hash.digest('hex') };
  });
}

/**
 * Not by `fetch`: loading it takes a worker longer than all of a small file's first transfer. Redirects are not followed.
 * @throws Unreachable
 */
async function exchange(url: string, options: RequestOptions, body?: Readable): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = (url.startsWith('https:') ? https : http).request(url, options);
  request.on('response', resolve);
  // Also after the response: a server that refuses an upload need not read it.
  request.on('error', (cause) => reject(new Unreachable('the object store cannot be reached', { cause })));
  if (body === undefined) request.end();
  else
    body
      .on('error', (error) => {
        reject(error);
        request.destroy();
      })
      .pipe(request);
  try {
    return await promise;
  } finally {
    body?.unpipe();
    body?.destroy();
  }
}

async function* observed(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, note: (chunk: Uint8Array) => void) {
  for await (const chunk of chunks) {
    note(chunk);
    yield chunk;
  }
}

/** @throws Unreachable where the response breaks off */
async function* received(response: IncomingMessage, moved: () => void) {
  try {
    yield* observed(response, moved);
  } catch (cause) {
    throw new Unreachable('the object store cannot be reached', { cause });
  }
}

/** For expired temporary credentials AWS answers 400 (S3 API reference, "Error responses"), MinIO 403. */
const EXPIRED = /<Code>(ExpiredToken|InvalidToken|TokenRefreshRequired)<\/Code>/;
/** A connection that stood still, as that of a process that was frozen: 400 too (the same). What was sent may be sent again. */
const BROKEN_OFF = /<Code>(RequestTimeout|IncompleteBody)<\/Code>/;
/** Length of an answer's text, bytes. */
const OPENING_BYTES = 4_096;

/** As much of an answer as tells why. */
async function opening(response: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let held = 0;
  for await (const chunk of received(response, () => {})) {
    chunks.push(chunk);
    held += chunk.byteLength;
    if (held >= OPENING_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, OPENING_BYTES);
}

async function expectOk(response: IncomingMessage): Promise<void> {
  const { statusCode: status = 0 } = response;
  if (status >= 200 && status < 300) return;
  const text = status === 400 ? await opening(response) : '';
  if (status === 404) throw new Missing('the granted object does not exist');
  // RFC 4918, 11.5; MinIO's XMinioStorageFull.
  if (status === 507) throw new StoreFull('no space is left for objects');
  const says = `the object store answered ${status}`;
  // What S3 says of a signature that has lapsed, that is not valid yet, or whose key is no longer known.
  if (EXPIRED.test(text) || status === 401 || status === 403) throw new AccessDenied(says);
  // A new bucket redirects until its name is known everywhere.
  const isPassing = status >= 500 || status < 400 || status === 408 || BROKEN_OFF.test(text);
  throw isPassing ? new Unreachable(says) : new Error(says);
}

/** Runs a transfer that ends with `signal`, or when `moved` is not called for `STALL_MS`. */
async function unlessStalled<T>(signal: AbortSignal, transfer: (guarded: AbortSignal, moved: () => void) => Promise<T>): Promise<T> {
  const stalled = new AbortController();
  const guarded = AbortSignal.any([signal, stalled.signal]);
  const timer = setTimeout(() => stalled.abort(new Unreachable(`the transfer stalled for ${STALL_MS / 1_000} s`)), STALL_MS);
  try {
    return await transfer(guarded, () => void timer.refresh());
  } catch (error) {
    throw guarded.aborted ? guarded.reason : error;
  } finally {
    clearTimeout(timer);
  }
}
