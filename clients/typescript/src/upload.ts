/** Resumable uploads (tus 1.0): a piece that is lost costs that piece, not the file. */
import { FilemillError } from './error.ts';
import { backoffMs, pause, retryAfterMs, type Send } from './retry.ts';

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
  const response = await send(new Request(uploadsUrl, { method: 'POST', headers, signal }));
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
    const response = await fetch(url, { method: 'PATCH', headers, body, signal: limited }).catch(() => undefined);
    signal.throwIfAborted();
    if (response?.status === 204) {
      offset += body.size;
      failures = 0;
      continue;
    }
    if (++failures >= MOST_FAILURES) throw await failed(response);
    await response?.body?.cancel();
    await pause(Math.max(backoffMs(failures), response === undefined ? 0 : retryAfterMs(response)), signal);
    const reached = await offsetOf(deps, url);
    if (reached > offset) failures = 0;
    offset = reached;
  }
}

const failed = async (response: Response | undefined): Promise<Error> =>
  response === undefined ? new Error('The service could not be reached.') : FilemillError.from(response);

/** @throws FilemillError where there is no such upload any more */
async function offsetOf({ send, signal }: UploadDeps, url: string): Promise<number> {
  const response = await send(new Request(url, { method: 'HEAD', headers: TUS, signal }));
  // An answer to HEAD has no body that says so.
  if (response.status === 404) throw new FilemillError(404, GONE);
  const offset = Number(response.headers.get('upload-offset') ?? Number.NaN);
  if (!response.ok || !Number.isSafeInteger(offset)) throw await FilemillError.from(response);
  return offset;
}
