/** A file that a request names instead of sending it: fetched by the guarded download, and stored like any other. */
import type { FastifyRequest } from 'fastify';
import { Failure, fileTooLarge } from '../errors.ts';
import { TooLarge } from '../objects/store.ts';
import type { ApiParts } from './parts.ts';
import type { Received } from './receive.ts';
import { storeSampled } from './store-sampled.ts';

/**
 * @returns what was received, with the file that `url` names where none was sent
 * @throws Failure `BAD_REQUEST` where both came, `URL_REFUSED`, `FILE_TOO_LARGE`; then nothing new is stored
 */
export async function withUrl(parts: ApiParts, request: FastifyRequest, received: Received, key: string): Promise<Received> {
  const { fetch, objects, settings } = parts;
  const url = received.fields.get('url')?.trim();
  if (fetch === undefined || url === undefined || url === '') return received;
  if (received.count > 0) throw new Failure('BAD_REQUEST', { says: 'The form has both a file and the field "url": send one of them.' });
  const { maxFileBytes } = settings;
  const gone = new AbortController();
  const leave = () => gone.abort(new Error('the client went away'));
  const { socket } = request.raw;
  socket.once('close', leave);
  try {
    const { body, name } = await fetch(url, maxFileBytes, gone.signal);
    const stored = await storeSampled(body, key, objects, maxFileBytes, gone.signal);
    return { ...received, files: [{ part: 0, filename: name, ...stored }], count: 1 };
  } catch (error) {
    throw error instanceof TooLarge ? fileTooLarge(maxFileBytes, error.receivedBytes) : error;
  } finally {
    socket.off('close', leave);
  }
}
