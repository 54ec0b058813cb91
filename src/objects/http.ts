/** Transfers by presigned URL. The URLs are secrets: no error message contains one. */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { AccessDenied, Missing, StoreFull, TooLarge, Unreachable, type Written } from './store.ts';
import { pour } from './write.ts';

/** A transfer that moves no byte for this long has failed, ms. */
const STALL_MS = 60_000;

/** @throws Missing · AccessDenied · TooLarge, before the first byte where the length is declared · an Error that names the status */
export function fetchTo(url: string, file: FileHandle, maxBytes: number, signal: AbortSignal): Promise<void> {
  return unlessStalled(signal, async (guarded, moved) => {
    // With a content coding, the declared length would not be the file's.
    const response = await orUnreachable(fetch(url, { signal: guarded, redirect: 'error', headers: { 'accept-encoding': 'identity' } }));
    await expectOk(response);
    const declared = Number(response.headers.get('content-length') ?? Number.NaN);
    if (declared > maxBytes) {
      await response.body?.cancel();
      throw new TooLarge(declared);
    }
    const { sizeBytes } = await orUnreachable(pour(Readable.from(observed(response.body ?? [], moved)), file, maxBytes, guarded));
    if (!Number.isNaN(declared) && sizeBytes !== declared)
      throw new Unreachable(`the object ended after ${sizeBytes} of ${declared} bytes`);
  });
}

/**
 * @param sizeBytes of the file: S3 takes no upload of undeclared length
 * @throws StoreFull · AccessDenied · an Error that names the status
 */
export function sendFrom(file: FileHandle, sizeBytes: number, url: string, signal: AbortSignal): Promise<Written> {
  return unlessStalled(signal, async (guarded, moved) => {
    const hash = createHash('sha256');
    const content = file.createReadStream({ autoClose: false, start: 0 });
    const body = observed(content, (chunk) => {
      hash.update(chunk);
      moved();
    });
    const headers = { 'content-length': String(sizeBytes) };
    await expectOk(await orUnreachable(fetch(url, { method: 'PUT', signal: guarded, redirect: 'error', headers, body, duplex: 'half' })));
    return { sizeBytes, sha256: hash.digest('hex') };
  });
}

async function* observed(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, note: (chunk: Uint8Array) => void) {
  for await (const chunk of chunks) {
    note(chunk);
    yield chunk;
  }
}

/** @throws Unreachable where no answer came, or not all of it */
const orUnreachable = <T>(request: Promise<T>): Promise<T> =>
  request.catch((cause: unknown) => {
    // `fetch` throws a TypeError, which names no URL. Aborts pass unchanged.
    throw cause instanceof TypeError ? new Unreachable('the object store cannot be reached', { cause }) : cause;
  });

/** Of temporary credentials that have ended AWS answers 400 (S3 API reference, "Error responses"), MinIO 403. */
const EXPIRED = /<Code>(ExpiredToken|InvalidToken|TokenRefreshRequired)<\/Code>/;
/** A connection that stood still, as that of a process that was frozen: 400 too (the same). What was sent may be sent again. */
const BROKEN_OFF = /<Code>(RequestTimeout|IncompleteBody)<\/Code>/;
/** Of an answer's text, bytes. */
const OPENING_BYTES = 4_096;

/** As much of an answer as tells why; what is left of it is cancelled. */
async function opening({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let held = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    held += chunk.byteLength;
    if (held >= OPENING_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, OPENING_BYTES);
}

async function expectOk(response: Response): Promise<void> {
  if (response.ok) return;
  const text = response.status === 400 ? await opening(response) : '';
  const expired = EXPIRED.test(text);
  await response.body?.cancel();
  if (response.status === 404) throw new Missing('the granted object does not exist');
  // RFC 4918, 11.5; MinIO's XMinioStorageFull.
  if (response.status === 507) throw new StoreFull('no space is left for objects');
  const says = `the object store answered ${response.status}`;
  // What S3 says of a signature that has lapsed, that is not valid yet, or whose key is no longer known.
  if (expired || response.status === 401 || response.status === 403) throw new AccessDenied(says);
  throw response.status >= 500 || response.status === 408 || BROKEN_OFF.test(text) ? new Unreachable(says) : new Error(says);
}

/** Runs a transfer that ends with `signal`, or when `moved` is not called for `STALL_MS`. */
async function unlessStalled<T>(signal: AbortSignal, transfer: (guarded: AbortSignal, moved: () => void) => Promise<T>): Promise<T> {
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(new Unreachable(`the transfer stalled for ${STALL_MS / 1_000} s`)), STALL_MS);
  try {
    return await transfer(AbortSignal.any([signal, stalled.signal]), () => void timer.refresh());
  } finally {
    clearTimeout(timer);
  }
}
