/** A response body as a stream that ends with the file or fails with a Failure, within limits on time and size. */
import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable, type TransformCallback } from 'node:stream';
import { fileTooLarge } from '../../errors.ts';
import { onAbort } from '../../streams/abort.ts';
import { Coalesce } from '../../streams/coalesce.ts';
import { watchCrumbs } from '../../streams/crumbs.ts';
import type { Deadline } from '../../streams/deadline.ts';
import { urlRefused } from '../refusal.ts';

export interface BodyLimits {
  readonly maxBytes: number;
  /** Longest time without a byte while the reader waits for one, ms. */
  readonly idleMs: number;
  /** Average over `RATE_WINDOWS` times `idleMs`, while the reader keeps up. */
  readonly minBytesPerSecond: number;
}

/** Longer than the idle time, so that a server that stopped is distinguished from one that is slow. */
const RATE_WINDOWS = 2;

/** Counts each chunk as it arrives, and passes on joined chunks, so that the limits work byte by byte even for a server that sends single bytes. */
class CountedBody extends Coalesce {
  readonly #count: (bytes: number) => Error | undefined;

  /** @param count called for each chunk; an error that it returns ends the body */
  constructor(count: (bytes: number) => Error | undefined) {
    super();
    this.#count = count;
  }

  override _transform(chunk: Buffer, encoding: BufferEncoding, done: TransformCallback): void {
    const error = this.#count(chunk.length);
    if (error === undefined) super._transform(chunk, encoding, done);
    else done(error);
  }
}

/**
 * @param deadline of the whole download; stopped at the last byte, or when the body is destroyed
 * @throws Failure `URL_REFUSED`: unreachable, if the connection has already broken off
 * @returns a stream that fails with Failure `FILE_TOO_LARGE`, `URL_REFUSED`: unreachable · the reason of `deadline`. Destroying it closes the
 * connection.
 */
export function limitedBody(response: IncomingMessage, { maxBytes, idleMs, minBytesPerSecond }: BodyLimits, deadline: Deadline): Readable {
  const brokeOff = (cause: unknown) => urlRefused('unreachable', { says: 'The connection broke off in the middle of the file.', cause });
  if (response.errored !== null) throw brokeOff(response.errored);
  let receivedBytes = 0;
  const body = new CountedBody((bytes) => {
    receivedBytes += bytes;
    idle.refresh();
    return receivedBytes > maxBytes ? fileTooLarge(maxBytes, receivedBytes) : undefined;
  });
  const idle = setTimeout(() => {
    // With a full buffer we wait for the reader, not for the server.
    if (body.readableLength >= body.readableHighWaterMark) idle.refresh();
    else body.destroy(urlRefused('unreachable', { says: 'The server in the URL stopped sending in the middle of the file.' }));
  }, idleMs);
  const rateMs = RATE_WINDOWS * idleMs;
  let receivedBefore = 0;
  const rate = setInterval(() => {
    const bytes = receivedBytes - receivedBefore;
    receivedBefore = receivedBytes;
    if (body.readableLength < body.readableHighWaterMark && bytes < (minBytesPerSecond * rateMs) / 1000)
      body.destroy(urlRefused('unreachable', { says: 'The server in the URL sends the file too slowly.' }));
  }, rateMs);
  watchCrumbs(response, () =>
    body.destroy(urlRefused('unreachable', { says: 'The server in the URL sends the file in too many small chunks.', retryable: false })),
  );
  // Before the pipeline, which would pass on the connection's own error.
  response.on('error', (cause) => {
    body.destroy(deadline.signal.aborted ? deadline.signal.reason : brokeOff(cause));
  });
  const unsubscribe = onAbort(deadline.signal, (reason) => body.destroy(reason as Error));
  // The callback runs at the last byte: after it only the reader takes time. The pipeline keeps listening for errors of the body, since an
  // error without a listener would end the process.
  pipeline(response, body, () => {
    clearTimeout(idle);
    clearInterval(rate);
    unsubscribe();
    deadline.stop();
  });
  return body;
}
