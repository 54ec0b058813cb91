/** Gives up on bodies that trickle, and on those that come in crumbs: what each piece costs must be worth its bytes. */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../../errors.ts';
import type { ApiSettings } from '../settings.ts';

/** A chunked body may have this many pieces before their size is checked: a short body costs little. */
const FEW_PIECES = 1_000;
/** The parser calls back for each chunk (RFC 9112 §7.1), before they can be joined: smaller ones cost more than they carry, bytes. */
const MIN_MEAN_BYTES = 16;

/**
 * A window of time must bring a certain number of bytes, and a chunked body must not come in tiny pieces.
 * @param refuse called at most once, with `BODY_TIMEOUT` or `BAD_REQUEST` @returns the end of watching
 */
export function watchPace(
  request: IncomingMessage,
  { paceWindowMs, paceBytes }: Pick<ApiSettings, 'paceWindowMs' | 'paceBytes'>,
  refuse: (failure: Failure) => void,
): () => void {
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  let [pieces, bytes, inWindow] = [0, 0, 0];
  const count = (chunk: Buffer) => {
    pieces++;
    bytes += chunk.length;
    inWindow += chunk.length;
    if (!isChunked || pieces <= FEW_PIECES || bytes >= pieces * MIN_MEAN_BYTES) return;
    stop();
    dropRest(request);
    refuse(new Failure('BAD_REQUEST', { says: 'The body has too many small chunks: send larger ones, or a Content-Length.' }));
  };
  const timer = setInterval(() => {
    if (request.complete) return;
    if (inWindow < paceBytes) {
      stop();
      refuse(new Failure('BODY_TIMEOUT'));
    }
    inWindow = 0;
  }, paceWindowMs);
  const stop = () => {
    clearInterval(timer);
    request.off('data', count);
  };
  request.on('data', count);
  return stop;
}

/**
 * The parser works through a whole read of the network, 64 KiB, before anybody else has a turn: ten thousand chunks of one byte. It hands
 * each to `push`, whose work is most of what they cost.
 */
function dropRest(request: IncomingMessage): void {
  const push = request.push.bind(request);
  request.push = (chunk: unknown) => chunk === null && push(null);
}
