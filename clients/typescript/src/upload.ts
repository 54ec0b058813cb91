/** Resumable uploads (tus 1.0): a piece that is lost costs that piece, not the file. */
import { FilemillError } from './error.ts';
import { backoffMs, pause, retryAfterMs, type Send, TRANSIENT } from './retry.ts';

const TUS = { 'tus-resumable': '1.0.0' };
/** Failures one after another without a byte between them, before it is given up. */
const MOST_FAILURES = 8;

const GONE = {
  error: {
    code: 'UPLOAD_NOT_FOUND',
    message: 'There is no such upload, or it has expired: send the file again.',
    details: { retryable: false },
  },
};

interface UploadDeps {
  /** Asks again where it may. */
  readonly send: Send;
  /** Asks once. */
  readonly fetch: typeof fetch;
  readonly uploadsUrl: string;
  /** Bytes of one request. */
  readonly pieceBytes: number;
  /** How long one piece may take, ms. */
  readonly pieceMs: number;
  readonly signal: AbortSignal;
}

/** @returns the id of a new upload without a byte @throws FilemillError */
export async function createUpload({ send, uploadsUrl, signal }: UploadDeps, file: Blob, filename: string): Promise<string> {
  const name = btoa(String.fromCharCode(...new TextEncoder().encode(filename)));
  const headers = { ...TUS, 'upload-length': String(file.size), 'upload-metadata': `filename ${name}` };
  // At worst there is an upload without a byte.
  const response = await send(new Request(uploadsUrl, { method: 'POST', headers, signal }), { isRepeatable: true });
  const id = /\/(upl_[0-9a-f]+)$/.exec(response.headers.get('location') ?? '')?.[1];
  if (!response.ok || id === undefined) throw await FilemillError.from(response);
  await response.body?.cancel();
  return id;
}

/** Sends what the service does not have yet. @param id of an upload, perhaps begun by another process @throws FilemillError */
export async function sendPieces(deps: UploadDeps, id: string, file: Blob): Promise<void> {
  const { fetch, uploadsUrl, pieceBytes, pieceMs, signal } = deps;
  const url = `${uploadsUrl}/${id}`;
  let offset = await offsetOf(deps, url);
  let failures = 0;
  while (offset < file.size) {
    const body = file.slice(offset, offset + pieceBytes);
    const headers = { ...TUS, 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' };
    const limited = AbortSignal.any([signal, AbortSignal.timeout(pieceMs)]);
    const refused = await sendPiece(fetch, url, { method: 'PATCH', headers, body, signal: limited });
    signal.throwIfAborted();
    if (refused === undefined) {
      offset += body.size;
      failures = 0;
      continue;
    }
    if (!refused.mayPass || ++failures >= MOST_FAILURES) throw refused.error;
    await pause(Math.max(backoffMs(failures), refused.afterMs), signal);
    const reached = await offsetOf(deps, url);
    if (reached > offset) failures = 0;
    offset = reached;
  }
}

/** Why a piece was not taken. */
interface Refused {
  readonly error: Error;
  /** Whether it may be taken later: another request may hold the upload, or the offset be another. */
  readonly mayPass: boolean;
  /** What the service asks for, ms. */
  readonly afterMs: number;
}

/** @returns undefined where the piece was taken */
async function sendPiece(send: typeof fetch, url: string, piece: RequestInit): Promise<Refused | undefined> {
  try {
    const response = await send(url, piece);
    if (response.status === 204) return undefined;
    const { status } = response;
    const mayPass = status >= 500 || status === 423 || TRANSIENT.has(status);
    return { error: await FilemillError.from(response), mayPass, afterMs: retryAfterMs(response) };
  } catch (cause) {
    return { error: new Error('The service did not answer.', { cause }), mayPass: true, afterMs: 0 };
  }
}

/** Once its job has it: a client may have some uploads only. Where this fails, it expires. */
export async function deleteUpload({ fetch, uploadsUrl, pieceMs }: UploadDeps, id: string): Promise<void> {
  const asked = { method: 'DELETE', headers: TUS, signal: AbortSignal.timeout(pieceMs) };
  const response = await fetch(`${uploadsUrl}/${id}`, asked).catch(() => undefined);
  await response?.body?.cancel();
}

/** @throws FilemillError where there is no such upload any more */
async function offsetOf({ send, signal }: UploadDeps, url: string): Promise<number> {
  const response = await send(new Request(url, { method: 'HEAD', headers: TUS, signal }));
  // An answer to HEAD has no body that says so.
  if (response.status === 404) throw new FilemillError(404, GONE);
  const offset = Number(response.headers.get('upload-offset') ?? Number.NaN);
  if (!response.ok || !Number.isSafeInteger(offset)) throw await FilemillError.from(response);
  return offset;
}
