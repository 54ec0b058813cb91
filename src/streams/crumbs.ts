/** Bodies that come in crumbs: Node's parser calls back for each chunk (RFC 9112 §7.1), before they can be joined. What a piece costs must be worth its bytes. */
import type { IncomingMessage } from 'node:http';

/** A chunked body may have this many pieces before their size is checked: a short body costs little. */
const FEW_PIECES = 1_000;
/** Smaller ones cost more than they carry, bytes. */
const MIN_MEAN_BYTES = 16;

export const areCrumbs = (pieces: number, bytes: number): boolean => pieces > FEW_PIECES && bytes < pieces * MIN_MEAN_BYTES;

/**
 * The parser works through a whole read of the network, 64 KiB, before anybody else has a turn: ten thousand chunks of one byte. It hands
 * each to `push`, whose work is most of what they cost.
 */
export function dropRest(message: IncomingMessage): void {
  const push = message.push.bind(message);
  message.push = (chunk: unknown) => chunk === null && push(null);
}

/** @param refuse called at most once; the rest of the body is dropped */
export function watchCrumbs(message: IncomingMessage, refuse: () => void): void {
  if (message.headers['transfer-encoding'] === undefined) return;
  const push = message.push.bind(message);
  let [pieces, bytes] = [0, 0];
  message.push = (chunk: unknown) => {
    pieces++;
    bytes += Buffer.isBuffer(chunk) ? chunk.length : 0;
    if (chunk === null || !areCrumbs(pieces, bytes)) return push(chunk);
    message.push = (rest: unknown) => rest === null && push(null);
    refuse();
    return false;
  };
}
