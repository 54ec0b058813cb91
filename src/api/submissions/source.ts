/** The file of a submission: fetched by the guarded download, or copied from what was imported for its namespace. */
import type { S3Object, Submission, SubmissionSecrets } from '../../contracts/messages/submission.ts';
import { Failure, fileTooLarge } from '../../errors.ts';
import type { Headers } from '../../fetch/download/exchange.ts';
import { Missing, TooLarge } from '../../objects/store.ts';
import { validKey } from '../../objects/valid-key.ts';
import type { ApiDeps } from '../deps.ts';
import type { ReceivedFile } from '../intake/receive.ts';
import { fromUrl, type ReadReference } from '../intake/references.ts';
import { storeSampled } from '../intake/store-sampled.ts';
import { reachable, readFromBucket } from './bucket.ts';

/** The prefix of the objects that a namespace may name. */
const importsOf = (namespace: string): string => `imports/${namespace}/`;

/** @throws Failure `URL_REFUSED`, `BAD_REQUEST`, `NOT_FOUND`, `FILE_TOO_LARGE`; then nothing is stored */
export async function receiveSource(
  deps: Pick<ApiDeps, 'files' | 'service'>,
  { source, namespace, filename }: Pick<Submission, 'source' | 'namespace' | 'filename'>,
  { headers, s3 }: SubmissionSecrets,
  key: string,
  signal: AbortSignal,
): Promise<ReceivedFile> {
  const bring = (): Promise<ReceivedFile> => {
    if ('s3' in source) return fromBucket(deps, source.s3, s3, key, signal);
    if ('key' in source) return fromImport(deps, ownImport(source.key, namespace), 0, key, signal);
    return headers === undefined ? byUrl(deps, source.url, 0, key, signal) : byPrivateUrl(deps, source.url, headers, key, signal);
  };
  const file = await bring();
  return filename === undefined || filename === '' ? file : { ...file, filename };
}

const byUrl: ReadReference = async (deps, ...place) => {
  if (deps.files.fetch !== undefined) return fromUrl(deps, ...place);
  throw new Failure('URL_REFUSED', {
    says: 'Fetching by URL is disabled on this service: import the source, and set its key.',
    details: { reason: 'scheme' },
  });
};

/** Also to origins that the operator lists: only a known client has credentials for them. */
const byPrivateUrl = (
  deps: Pick<ApiDeps, 'files' | 'service'>,
  url: string,
  headers: Headers,
  key: string,
  signal: AbortSignal,
): Promise<ReceivedFile> => {
  const { fetch } = reachable(deps.files.privately);
  const files = { ...deps.files, fetch: (text: string, maxBytes: number, until: AbortSignal) => fetch(text, maxBytes, until, headers) };
  return fromUrl({ ...deps, files }, url, 0, key, signal);
};

async function fromBucket(
  deps: Pick<ApiDeps, 'files' | 'service'>,
  from: S3Object,
  credentials: SubmissionSecrets['s3'],
  key: string,
  signal: AbortSignal,
): Promise<ReceivedFile> {
  const { objects } = deps.files;
  const { settings } = deps.service;
  const content = await readFromBucket(deps.files.privately, from, credentials, settings.maxFileBytes, signal);
  try {
    const filename = from.key.slice(from.key.lastIndexOf('/') + 1);
    return { part: 0, filename, ...(await storeSampled(content, key, objects, settings.maxFileBytes, signal)) };
  } catch (error) {
    throw error instanceof TooLarge ? fileTooLarge(settings.maxFileBytes, error.receivedBytes) : error;
  } finally {
    content.destroy();
  }
}

/** One namespace cannot name the objects of another: a key lies below the namespace's own part, and no segment of a valid key leads upwards. */
function ownImport(key: string, namespace: string): string {
  const prefix = importsOf(namespace);
  try {
    return validKey(prefix + key);
  } catch (cause) {
    const says = `The source's key, below "${prefix}", must consist of A-Z a-z 0-9 . _ - between single slashes.`;
    throw new Failure('BAD_REQUEST', { says, details: { field: 'source.key', prefix }, cause });
  }
}

/** The object stays: its owner removes it. */
const fromImport: ReadReference = async ({ files: { objects }, service }, from, part, key, signal) => {
  const { maxFileBytes } = service.settings;
  const absent = (cause?: unknown) =>
    new Failure('NOT_FOUND', { says: `There is no object "${from}" in the bucket.`, details: { field: 'source.key' }, cause });
  const found = await objects.head(from);
  if (found === undefined) throw absent();
  if (found.sizeBytes > maxFileBytes) throw fileTooLarge(maxFileBytes, found.sizeBytes);
  try {
    const content = await objects.get(from);
    try {
      return {
        part,
        filename: from.slice(from.lastIndexOf('/') + 1),
        ...(await storeSampled(content, key, objects, maxFileBytes, signal)),
      };
    } finally {
      content.destroy();
    }
  } catch (error) {
    if (error instanceof Missing) throw absent(error);
    throw error instanceof TooLarge ? fileTooLarge(maxFileBytes, error.receivedBytes) : error;
  }
};
