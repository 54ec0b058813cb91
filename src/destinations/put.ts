/** Sends a result by PUT, as a stored object is read. */
import { Failure } from '../errors.ts';
import type { Sender } from '../fetch/send.ts';
import type { ObjectStore } from '../objects/store.ts';
import type { ObjectPlace, S3Places } from './places.ts';
import type { DestinationSettings } from './settings.ts';
import type { PutResult } from './storer.ts';

export function putWith(
  sender: Pick<Sender, 'send'>,
  objects: Pick<ObjectStore, 'get'>,
  places: Pick<S3Places, 'presign'>,
  { uploadMs: totalMs }: Pick<DestinationSettings, 'uploadMs'>,
): PutResult {
  return async ({ output: { key, filename, contentType, sizeBytes: bytes } }, { url: named, s3, headers }, confirm, signal) => {
    const { 'content-type': type = contentType, ...others } = headers;
    const url = s3 === undefined ? named : await places.presign(s3, 'PUT', placeOf(named, filename));
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

/** @param url as it was judged when the job was accepted */
function placeOf(url: string, filename: string): ObjectPlace {
  const { bucket = '', key = '' } = /^s3:\/\/(?<bucket>[^/]+)\/(?<key>.*)$/s.exec(url)?.groups ?? {};
  return { bucket, key: key === '' || key.endsWith('/') ? key + filename : key };
}
