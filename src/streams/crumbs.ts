/** Bodies that come in crumbs: Node's parser calls back for each chunk (RFC 9112 §7.1), before they can be joined. What a piece costs must be worth its bytes. */
import type { IncomingMessage } from 'node:http';

/** A chunked body may have this many pieces before their size is checked: a short body costs little. */
const FEW_PIECES = 1_000;
/** Smaller ones cost more than they carry, bytes. */
const MIN_MEAN_BYTES = 16;

/**
 * The parser works through a whole read of the network, 64 KiB, before other work gets a turn: ten thousand chunks of one byte. It hands
 * each to `push`, whose work is most of what they cost.
 * @param refuse called at most once; the rest of the body is dropped
 * @returns the end of watching
 */
export function watchCrumbs(message: IncomingMessage, refuse: () => void): () => void {
  if (message.headers['transfer-encoding'] === undefined) return () => {};
  const push = message.push.bind(message);
  let [pieces, bytes, isWatched] = [0, 0, true];
  message.push = (chunk: unknown) => {
    if (chunk === null || !isWatched) return push(chunk);
    pieces++;
    bytes += Buffer.isBuffer(chunk) ? chunk.length : 0;
    if (pieces <= FEW_PIECES || bytes >= pieces * MIN_MEAN_BYTES) return push(chunk);
    message.push = (rest: unknown) => rest === null && push(null);
    refuse();
    return false;
  };
  return () => {
    isWatched = false;
  };
}
