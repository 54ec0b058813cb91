/** Sends a result by PUT, as a stored object is read. */
import { Failure } from '../errors.ts';
import type { Sender } from '../fetch/send.ts';
import type { ObjectStore } from '../objects/store.ts';
import type { DestinationSettings } from './settings.ts';
import type { StorerDeps } from './storer.ts';

export function putWith(
  sender: Pick<Sender, 'send'>,
  objects: Pick<ObjectStore, 'get'>,
  { uploadMs: totalMs }: Pick<DestinationSettings, 'uploadMs'>,
): StorerDeps['put'] {
  return async ({ output: { key, contentType, sizeBytes: bytes } }, { url, headers }, confirm, signal) => {
    const { 'content-type': type = contentType, ...others } = headers;
    const content = await objects.get(key);
    let broken: Error | undefined;
    content.on('error', (error: NodeJS.ErrnoException) => {
      // What ends it when the connection ends.
      if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE' && error.code !== 'ABORT_ERR') broken = error;
    });
    try {
      return await sender.send({ url, headers: others, body: { method: 'PUT', type, bytes, content }, totalMs, confirm }, signal);
    } catch (error) {
      throw broken !== undefined && error instanceof Failure ? new Failure('OVERLOADED', { cause: broken }) : error;
    } finally {
      content.destroy();
    }
  };
}
