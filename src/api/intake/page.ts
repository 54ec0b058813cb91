/** A request that names a web page: reads its fields from any of three kinds of body, checks the URL, and stores it as the job's only input. */
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { refuseField } from '../../catalog/tool.ts';
import { Failure } from '../../errors.ts';
import type { ApiDeps } from '../deps.ts';
import { mediaTypeOf, readFields } from './fields.ts';
import { type Received, type ReceivedFile, type ReceiveOptions, receive } from './receive.ts';
import { storeSampled } from './store-sampled.ts';

/** Size of a form that should have no file, bytes. */
const MOST_BYTES = 64 * 1024;
/** The tool that prints web pages. */
export const PAGE_TOOL = 'webpage-to-pdf';
/** `allowed` in the refusal. */
const URL_TAKES = 'the http or https URL of a page';

/**
 * The URL is the job's input, not a part of its record: records are kept longer than inputs, and more processes read them.
 * @returns a file that is named after the page's host
 * @throws Failure `INVALID_OPTION`, `URL_REFUSED`, `NO_FILE`, `BAD_REQUEST`, `BODY_TIMEOUT`, `NOT_IMPLEMENTED`; then nothing is stored
 */
export async function receivePage(
  deps: Pick<ApiDeps, 'files' | 'service'>,
  request: FastifyRequest,
  { keyOf }: Pick<ReceiveOptions, 'keyOf'>,
  gone: AbortSignal,
): Promise<Received> {
  const fields = await fieldsOf(deps, request.raw);
  return { fields, files: [await storePage(deps, fields.get('url'), keyOf(0), gone)], count: 1 };
}

/** @throws Failure `INVALID_OPTION`, `URL_REFUSED`, `NOT_IMPLEMENTED`; then nothing is stored */
export async function storePage(
  { files: { findPage, objects }, service: { settings } }: Pick<ApiDeps, 'files' | 'service'>,
  sent: string | undefined,
  key: string,
  signal: AbortSignal,
): Promise<ReceivedFile> {
  const url = sent?.trim() || undefined;
  if (url === undefined) throw refuseField('url', undefined, URL_TAKES);
  if (findPage === undefined) throw new Failure('NOT_IMPLEMENTED', { details: { slug: PAGE_TOOL, reason: 'fetching by URL is disabled' } });
  const target = await findPage(url, signal);
  const stored = await storeSampled(Readable.from([Buffer.from(target.url.href)]), key, objects, settings.maxFileBytes, signal);
  return { part: 0, filename: `${target.host}.url`, ...stored };
}

async function fieldsOf(
  { files: { objects }, service: { settings } }: Pick<ApiDeps, 'files' | 'service'>,
  request: FastifyRequest['raw'],
): Promise<ReadonlyMap<string, string>> {
  if (mediaTypeOf(request) === 'multipart/form-data') {
    const none = { fields: [], maxFiles: 0, maxBytes: MOST_BYTES, keyOf: () => '' };
    return (await receive(request, none, objects, settings)).fields;
  }
  const fields = await readFields(request, settings);
  if (fields !== undefined) return fields;
  throw new Failure('NO_FILE', {
    says: 'Send the field "url" as multipart/form-data, as application/x-www-form-urlencoded or as JSON.',
  });
}
