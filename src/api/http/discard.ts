/** Answers before a body has been read: the answer goes out at once, the rest of the body is thrown away for a while, and the client reads its status instead of a reset. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

const DISCARD_MS = 30_000;
const DISCARD_BYTES = 32 * 1024 * 1024;
/** Maximum number of tiny chunks: each costs as much as a large one. */
const DISCARD_PIECES = 5_000;
const TINY_BYTES = 256;
const LINGER_MS = 2_000;

/**
 * The answer's body as a stream that ends only when the request's has ended or a bound is reached: Node closes the connection when an
 * answer ends, and a close with unread bytes is a reset (RFC 9112 §9.6). The bytes themselves are there from the beginning.
 */
export function answerThenDiscard(body: string, request: IncomingMessage): Readable {
  const answer = new Readable({ read() {} });
  answer.push(body);
  let [discarded, pieces] = [0, 0];
  const finish = () => {
    clearTimeout(timer);
    request.off('data', count);
    answer.push(null);
  };
  const count = (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > DISCARD_BYTES) finish();
    else if (++pieces > DISCARD_PIECES && discarded < pieces * TINY_BYTES) {
      request.off('data', count);
      request.pause();
      // Nothing more is read: the client has this long to read its answer.
      setTimeout(finish, LINGER_MS).unref();
    }
  };
  const timer = setTimeout(finish, DISCARD_MS);
  request.once('end', finish).once('close', finish).once('error', finish);
  // The client may have gone before there was a listener.
  answer.once('close', finish);
  request.unpipe();
  request.on('data', count);
  request.resume();
  return answer;
}
