/** The body of an answer as a stream that ends with the file or with a Failure, and never lasts or grows beyond its limits. */
import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable, Transform } from 'node:stream';
import { fileTooLarge } from '../errors.ts';
import type { Deadline } from './deadline.ts';
import { refused } from './refusal.ts';

export interface BodyLimits {
  readonly maxBytes: number;
  /** Without a byte, while the reader waits for one, ms. */
  readonly idleMs: number;
}

/**
 * @param deadline of the exchange, which ends `response` with it; stopped when the last byte is here
 * @throws Failure `URL_REFUSED`: unreachable, where the connection has broken off already
 * @returns fails with Failure `FILE_TOO_LARGE`, `URL_REFUSED`: unreachable · what `deadline` was aborted with. Destroying it closes the connection.
 */
export function limitedBody(response: IncomingMessage, { maxBytes, idleMs }: BodyLimits, deadline: Deadline): Readable {
  const brokeOff = (cause: unknown) => refused('unreachable', { says: 'The connection broke off in the middle of the file.', cause });
  if (response.errored !== null) throw brokeOff(response.errored);
  let receivedBytes = 0;
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      receivedBytes += chunk.length;
      idle.refresh();
      if (receivedBytes > maxBytes) done(fileTooLarge(maxBytes, receivedBytes));
      else done(null, chunk);
    },
  });
  const idle = setTimeout(() => {
    // A full buffer waits for its reader, not for the server.
    if (body.readableLength >= body.readableHighWaterMark) idle.refresh();
    else body.destroy(refused('unreachable', { says: 'The server in the URL stopped sending in the middle of the file.' }));
  }, idleMs);
  // Before the pipeline, which would hand on what the connection says.
  response.on('error', (cause) => {
    body.destroy(deadline.signal.aborted ? deadline.signal.reason : brokeOff(cause));
  });
  // Called when the last byte is here: from then on only the reader takes time. The pipeline goes on listening for errors of the body:
  // one that comes between two readers must not end the process.
  pipeline(response, body, () => {
    clearTimeout(idle);
    deadline.stop();
  });
  return body;
}
