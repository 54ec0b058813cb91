/** Brings a file to the service, resumably (tus 1.0): a lost connection, or a server that starts again, costs the rest of a piece at most. */
import { ask, at, backOff, type ErrorBody, pause, Refusal, waitFor, waitOf } from '../api/client.ts';

/** A file that fits one request needs no second one, bytes. */
const AT_ONCE = 256 * 1024;
const PROTOCOL = { 'tus-resumable': '1.0.0' } as const;

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text.slice(0, 500))));
}

/** @param told the share that has arrived @returns the upload's id @throws Refusal @throws DOMException `AbortError` */
export async function upload(file: File, told: (share: number) => void, cancel: AbortSignal): Promise<string> {
  const whole = file.size <= AT_ONCE;
  const { data } = await ask<{ upload_id: string }>('api/v1/uploads', {
    method: 'POST',
    headers: {
      ...PROTOCOL,
      'upload-length': String(file.size),
      'upload-metadata': `filename ${base64(file.name)}`,
      ...(whole && file.size > 0 ? { 'content-type': 'application/offset+octet-stream' } : {}),
    },
    ...(whole && file.size > 0 ? { body: file } : {}),
    signal: cancel,
    unlessGone: () => checkReadable(file),
  });
  told(whole ? 1 : 0);
  if (!whole)
    await send(file, data.upload_id, told, cancel).catch((error: unknown) => {
      discard(data.upload_id);
      throw error;
    });
  return data.upload_id;
}

async function send(file: File, id: string, told: (share: number) => void, cancel: AbortSignal): Promise<void> {
  const { Upload } = await import('tus-js-client');
  let [lost, best] = [0, 0];
  for (;;) {
    cancel.throwIfAborted();
    const outcome = await new Promise<'sent' | { status: number; body: string; wait: Response | undefined }>((resolve, reject) => {
      const transfer = new Upload(file, {
        // Made here: the service may use another name for itself than the browser does.
        uploadUrl: at(`api/v1/uploads/${id}`),
        retryDelays: null,
        storeFingerprintForResuming: false,
        onProgress: (sent, total) => {
          if (sent > best) [lost, best] = [0, sent];
          if (sent > 0 && pause.value?.why === 'lost') pause.value = undefined;
          told(sent / (total || file.size));
        },
        onSuccess: () => resolve('sent'),
        onError: (error) => {
          const response = 'originalResponse' in error ? error.originalResponse : null;
          const status = response?.getStatus() ?? 0;
          const wait =
            response === null || status === 0
              ? undefined
              : new Response(null, {
                  status: status < 200 ? 500 : status,
                  headers: { 'retry-after': response.getHeader('Retry-After') ?? '1' },
                });
          resolve({ status, body: response?.getBody() ?? '', wait });
        },
      });
      cancel.addEventListener(
        'abort',
        () => {
          void transfer.abort();
          reject(cancel.reason as Error);
        },
        { once: true },
      );
      transfer.start();
    });
    if (outcome === 'sent') return;
    const { status, body, wait } = outcome;
    const answer = (body.startsWith('{') ? JSON.parse(body) : {}) as { error?: ErrorBody };
    const later = wait === undefined ? undefined : waitOf(wait, answer);
    if (later !== undefined) await waitFor(later.why, later.ms, cancel);
    // What was interrupted may be written for a moment still: 409; what the service forgot is gone.
    else if (status === 0 || status === 409 || status === 408) {
      await checkReadable(file);
      await waitFor('lost', backOff(lost++), cancel);
    } else throw new Refusal(answer.error ?? { code: status === 404 ? 'UPLOAD_NOT_FOUND' : 'INTERNAL_ERROR', message: '' });
    if (lost > 200) throw new Refusal({ code: 'UPLOAD_NOT_FOUND', message: '' });
  }
}

/** A file that was changed or removed since it was chosen looks like a lost connection. @throws Refusal */
async function checkReadable(file: File): Promise<void> {
  await file
    .slice(0, 1)
    .arrayBuffer()
    .catch(() => {
      throw new Refusal({ code: 'FILE_CHANGED', message: '' });
    });
}

/** The job has its own copy. */
export function discard(id: string): void {
  void fetch(at(`api/v1/uploads/${id}`), { method: 'DELETE' }).catch(() => {});
}
