/** The body of an answer as a stream that ends with the file or with a Failure, and never lasts or grows beyond its limits. */
import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable, type TransformCallback } from 'node:stream';
import { fileTooLarge } from '../../errors.ts';
import { onAbort } from '../../streams/abort.ts';
import { Coalesce } from '../../streams/coalesce.ts';
import type { Deadline } from '../deadline.ts';
import { refused } from '../refusal.ts';

export interface BodyLimits {
  readonly maxBytes: number;
  /** Without a byte, while the reader waits for one, ms. */
  readonly idleMs: number;
  /** On average over `RATE_WINDOWS` times `idleMs`, while the reader takes what comes. */
  readonly minBytesPerSecond: number;
}

/** Longer than a silence may be: one that has stopped is told from one that is slow. */
const RATE_WINDOWS = 2;

/** Counts each piece as it comes, and hands on what has been joined: a server that sends single bytes is counted by the byte, and its file is not. */
class CountedBody extends Coalesce {
  readonly #count: (bytes: number) => Error | undefined;

  /** @param count of one piece; an error ends the body */
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
 * @param deadline of the whole download; stopped when the last byte is here, or none is wanted any more
 * @throws Failure `URL_REFUSED`: unreachable, where the connection has broken off already
 * @returns fails with Failure `FILE_TOO_LARGE`, `URL_REFUSED`: unreachable · what `deadline` was aborted with. Destroying it closes the connection.
 */
export function limitedBody(response: IncomingMessage, { maxBytes, idleMs, minBytesPerSecond }: BodyLimits, deadline: Deadline): Readable {
  const brokeOff = (cause: unknown) => refused('unreachable', { says: 'The connection broke off in the middle of the file.', cause });
  if (response.errored !== null) throw brokeOff(response.errored);
  let receivedBytes = 0;
  const body = new CountedBody((bytes) => {
    receivedBytes += bytes;
    idle.refresh();
    return receivedBytes > maxBytes ? fileTooLarge(maxBytes, receivedBytes) : undefined;
  });
  const idle = setTimeout(() => {
    // A full buffer waits for its reader, not for the server.
    if (body.readableLength >= body.readableHighWaterMark) idle.refresh();
    else body.destroy(refused('unreachable', { says: 'The server in the URL stopped sending in the middle of the file.' }));
  }, idleMs);
  const rateMs = RATE_WINDOWS * idleMs;
  let receivedBefore = 0;
  const rate = setInterval(() => {
    const bytes = receivedBytes - receivedBefore;
    receivedBefore = receivedBytes;
    if (body.readableLength < body.readableHighWaterMark && bytes < (minBytesPerSecond * rateMs) / 1000)
      body.destroy(refused('unreachable', { says: 'The server in the URL sends the file too slowly.' }));
  }, rateMs);
  // Before the pipeline, which would hand on what the connection says.
  response.on('error', (cause) => {
    body.destroy(deadline.signal.aborted ? deadline.signal.reason : brokeOff(cause));
  });
  const unsubscribe = onAbort(deadline.signal, (reason) => body.destroy(reason as Error));
  // Called when the last byte is here: from then on only the reader takes time. The pipeline goes on listening for errors of the body:
  // one that comes between two readers must not end the process.
  pipeline(response, body, () => {
    clearTimeout(idle);
    clearInterval(rate);
    unsubscribe();
    deadline.stop();
  });
  return body;
}
