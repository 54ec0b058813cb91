/** Stores the files of a call as a job's inputs: all of them or none. */
import { Readable } from 'node:stream';
import { Failure, fileTooLarge } from '../../../errors.ts';
import { TooLarge } from '../../../objects/store.ts';
import { onAbort } from '../../../streams/abort.ts';
import { mapConcurrently } from '../../../streams/concurrency.ts';
import type { ApiDeps } from '../../deps.ts';
import { removeAfterFailure } from '../../intake/inputs.ts';
import { storePage } from '../../intake/page.ts';
import type { ReceivedFile } from '../../intake/receive.ts';
import { FILES_AT_ONCE, fromUpload, fromUrl } from '../../intake/references.ts';
import { storeSampled } from '../../intake/store-sampled.ts';
import { fromOutput, outputOf } from '../../jobs/own-output.ts';
import type { FileArgument } from './file.ts';

interface InputOptions {
  readonly keyOf: (part: number) => string;
  /** The name of the first file; empty: the name at its source. */
  readonly filename: string;
  /** How long it may take, ms. */
  readonly withinMs: number;
  readonly gone: AbortSignal;
}

/** @throws Failure `URL_REFUSED`, `UPLOAD_NOT_FOUND`, `UPLOAD_CONFLICT`, `JOB_NOT_FOUND`, `JOB_NOT_READY`, `FILE_TOO_LARGE`, `OVERLOADED`; then nothing is stored */
export async function receiveInputs(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>,
  sent: readonly FileArgument[],
  { keyOf, filename, withinMs, gone }: InputOptions,
): Promise<readonly ReceivedFile[]> {
  const over = new AbortController();
  const unsubscribe = onAbort(gone, () => over.abort(new Error('the client went away')));
  const late = setTimeout(() => over.abort(tooSlow(sent, withinMs)), withinMs);
  try {
    await checkAll(deps, sent, over.signal);
    const files = await mapConcurrently(sent, { limit: FILES_AT_ONCE, abort: over }, (file, part) =>
      store(deps, file, part, keyOf(part), over.signal),
    );
    return files.map((file, index) => (index === 0 && filename !== '' ? { ...file, filename } : file));
  } catch (error) {
    await removeAfterFailure(
      deps.files.objects,
      sent.map((_, part) => keyOf(part)),
    );
    // An interrupted transfer may throw another error: the reason of the interruption is the answer.
    throw over.signal.aborted && over.signal.reason instanceof Failure ? over.signal.reason : error;
  } finally {
    clearTimeout(late);
    unsubscribe();
  }
}

/** Before the first byte is transferred: where one of several URLs is refused, none of the others is requested. */
async function checkAll(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue'>,
  sent: readonly FileArgument[],
  signal: AbortSignal,
): Promise<void> {
  for (const file of sent) {
    signal.throwIfAborted();
    switch (file.is) {
      case 'upload':
        await deps.files.uploads.find(file.id);
        break;
      case 'output':
        await outputOf(deps, file.job);
        break;
      case 'url':
        if (deps.files.fetch === undefined)
          throw new Failure('URL_REFUSED', {
            says: 'Fetching by URL is disabled on this service: send the file, or upload it.',
            details: { reason: 'scheme' },
          });
        if (sent.length > 1) await deps.files.findPage?.(file.url, signal);
        break;
      case 'page':
      case 'content':
        break;
    }
  }
}

function store(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue' | 'service'>,
  file: FileArgument,
  part: number,
  key: string,
  signal: AbortSignal,
): Promise<ReceivedFile> {
  switch (file.is) {
    case 'url':
      return fromUrl(deps, file.url, part, key, signal);
    case 'upload':
      return fromUpload(deps, file.id, part, key, signal);
    case 'output':
      return fromOutput(deps, file.job, part, key, signal);
    case 'page':
      return storePage(deps, file.url, key, signal);
    case 'content':
      return fromContent(deps, file, part, key, signal);
  }
}

async function fromContent(
  { files: { objects }, service }: Pick<ApiDeps, 'files' | 'service'>,
  { bytes, name }: FileArgument & { readonly is: 'content' },
  part: number,
  key: string,
  signal: AbortSignal,
): Promise<ReceivedFile> {
  const { maxFileBytes } = service.settings;
  try {
    return {
      part,
      filename: name,
      ...(await storeSampled(Readable.from(blocksOf(bytes), { objectMode: false }), key, objects, maxFileBytes, signal)),
    };
  } catch (error) {
    throw error instanceof TooLarge ? fileTooLarge(maxFileBytes, error.receivedBytes) : error;
  }
}

/** Hashed and written in blocks: ten MiB at once would block all other requests. */
function* blocksOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) yield bytes.subarray(at, at + BLOCK_BYTES);
}
const BLOCK_BYTES = 256 * 1024;

/** The remote server is slow, or this service is. */
function tooSlow(sent: readonly FileArgument[], withinMs: number): Failure {
  if (!sent.some(({ is }) => is === 'url')) return new Failure('OVERLOADED');
  const says = `The file was not fetched within ${Math.ceil(withinMs / 1000)} s: download it, POST it to /api/v1/uploads, and give the upload id.`;
  return new Failure('URL_REFUSED', { says, details: { reason: 'unreachable' }, retryable: true });
}
