/** Files that a request names instead of sending them: fetched by the guarded download or copied from uploads, they become inputs like any other. */
import { Failure, fileTooLarge } from '../../errors.ts';
import { Missing, TooLarge } from '../../objects/store.ts';
import { onAbort } from '../../streams/abort.ts';
import { mapConcurrently } from '../../streams/concurrency.ts';
import type { ApiDeps } from '../deps.ts';
import { namesOutput } from '../http/own-outputs.ts';
import { removeAfterFailure } from './inputs.ts';
import { linesOf, MOST_LINES, type Received, type ReceivedFile, type ReceiveOptions } from './receive.ts';
import { tooMany } from './refusals.ts';
import { storeSampled } from './store-sampled.ts';

type Kind = 'url' | 'upload';

/** Fields that name one file, and fields that name several. */
const ONE: Readonly<Record<string, Kind>> = { url: 'url', upload_id: 'upload' };
const SEVERAL: Readonly<Record<string, Kind>> = { 'urls[]': 'url', urls: 'url', 'upload_ids[]': 'upload', upload_ids: 'upload' };

export const REFERENCE_FIELDS: readonly string[] = [ONE, SEVERAL].flatMap(Object.keys);

/** Files of one request that are fetched or copied at a time. */
export const FILES_AT_ONCE = 3;

/** What a request names instead of sending it. */
interface Named {
  readonly field: string;
  readonly kind: Kind;
  readonly values: readonly string[];
}

/**
 * The uploads that a request names become its files: all of them or none.
 * @throws Failure `UPLOAD_NOT_FOUND`, `UPLOAD_CONFLICT`, `FILE_TOO_LARGE`; then nothing new is stored
 */
export async function bringUploads(
  deps: Pick<ApiDeps, 'files' | 'service'>,
  ids: readonly string[],
  keyOf: (part: number) => string,
  gone: AbortSignal,
): Promise<readonly ReceivedFile[]> {
  const over = new AbortController();
  const unsubscribe = onAbort(gone, (reason) => over.abort(reason));
  try {
    // Before the first byte is copied.
    for (const id of ids) await deps.files.uploads.find(id);
    return await mapConcurrently(ids, { limit: FILES_AT_ONCE, abort: over }, (id, part) =>
      fromUpload(deps, id, part, keyOf(part), over.signal),
    );
  } catch (error) {
    await removeAfterFailure(
      deps.files.objects,
      ids.map((_, part) => keyOf(part)),
    );
    throw error;
  } finally {
    unsubscribe();
  }
}

/** A file that is to be fetched. */
export interface FileToFetch {
  /** Its number in the request, which it will be stored by. */
  readonly part: number;
  readonly url: string;
  /** Reads it from the store, where the URL names an output of this service. */
  readonly read?: ((part: number, key: string, signal: AbortSignal) => Promise<ReceivedFile>) | undefined;
}

/** All of them or none. @throws Failure `URL_REFUSED`, `FILE_TOO_LARGE`, `OVERLOADED` · the reason of `signal`; then nothing is stored */
export async function fetchAll(
  deps: Pick<ApiDeps, 'files' | 'service'>,
  files: readonly FileToFetch[],
  keyOf: (part: number) => string,
  signal: AbortSignal,
): Promise<readonly ReceivedFile[]> {
  const over = new AbortController();
  const unsubscribe = onAbort(signal, (reason) => over.abort(reason));
  try {
    return await mapConcurrently(files, { limit: FILES_AT_ONCE, abort: over }, ({ url, part, read }) =>
      (read === undefined ? fromUrl(deps, url, part, keyOf(part), over.signal) : read(part, keyOf(part), over.signal)).catch(
        (error: unknown) => {
          throw files.length > 1 ? located(error, part) : error;
        },
      ),
    );
  } catch (error) {
    await removeAfterFailure(
      deps.files.objects,
      files.map(({ part }) => keyOf(part)),
    );
    throw error;
  } finally {
    unsubscribe();
  }
}

/** The fields that are no references. */
export const withoutField = (fields: ReadonlyMap<string, string>, field: string): ReadonlyMap<string, string> =>
  new Map([...fields].filter(([name]) => name !== field));

/**
 * What a request names instead of sending it; undefined where it names nothing.
 * @param wanted as the form was received by: a route that takes `file` takes `upload_id`, one that takes several files takes `upload_ids[]`, in their order
 * @param base of this service's URLs
 * @throws Failure `BAD_REQUEST` where it names files in two ways, or sends a file and names one
 */
export function namedIn(
  { files: { fetch } }: Pick<ApiDeps, 'files'>,
  { fields, count }: Received,
  wanted: Pick<ReceiveOptions, 'fields' | 'maxFiles'>,
  base: string,
): Named | undefined {
  const known = { ...(wanted.fields.includes('file') ? ONE : {}), ...(wanted.maxFiles > 1 ? SEVERAL : {}) };
  const given = Object.entries(known).flatMap(([field, kind]) => {
    const text = fields.get(field)?.trim() ?? '';
    if (text === '') return [];
    const lines = Object.hasOwn(ONE, field) ? [text] : linesOf(text);
    if (lines.length > MOST_LINES) throw tooMany(`values of "${field}"`, MOST_LINES);
    const values = lines.flatMap((line) => line.trim() || []);
    // Where nothing is fetched, our own outputs can be read all the same.
    if (kind === 'url' && fetch === undefined && !values.every((url) => namesOutput(url, base))) return [];
    return [{ field, kind, values }];
  });
  const ways = [...(count > 0 ? ['a file'] : []), ...given.map(({ field }) => `the field "${field}"`)];
  if (given.length > 0 && ways.length > 1) {
    const says = `The form has ${ways.join(' and ')}: send only one of them.`;
    throw new Failure('BAD_REQUEST', { says, details: { fields: given.map(({ field }) => field) } });
  }
  return given[0];
}

export type ReadReference = (
  deps: Pick<ApiDeps, 'files' | 'service'>,
  value: string,
  part: number,
  key: string,
  signal: AbortSignal,
) => Promise<ReceivedFile>;

export const fromUrl: ReadReference = async ({ files: { fetch, objects }, service }, url, part, key, signal) => {
  if (fetch === undefined) throw new Failure('NO_FILE');
  const { maxFileBytes } = service.settings;
  const { body, name, contentType: declaredType } = await fetch(url, maxFileBytes, signal);
  try {
    return { part, filename: name, declaredType, ...(await storeSampled(body, key, objects, maxFileBytes, signal)) };
  } catch (error) {
    throw error instanceof TooLarge ? fileTooLarge(maxFileBytes, error.receivedBytes) : error;
  } finally {
    body.destroy();
  }
};

export const fromUpload: ReadReference = async ({ files: { uploads, objects }, service }, id, part, key, signal) => {
  const { maxFileBytes } = service.settings;
  const { record, content } = await uploads.open(id);
  try {
    return { part, filename: record.filename, ...(await storeSampled(content, key, objects, maxFileBytes, signal)) };
  } catch (error) {
    // The upload was deleted, or expired, while it was read.
    if (error instanceof Missing) throw new Failure('UPLOAD_NOT_FOUND', { details: { upload_id: id }, cause: error });
    throw error instanceof TooLarge ? fileTooLarge(maxFileBytes, error.receivedBytes) : error;
  } finally {
    content.destroy();
  }
};

/** A refusal that says which of several URLs it is about. */
function located(error: unknown, index: number): unknown {
  return error instanceof Failure ? error.with({ details: { ...error.details, url_index: index } }) : error;
}
