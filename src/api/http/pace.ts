/** Refuses bodies that arrive too slowly, or in pieces so small that handling them costs more than their bytes are worth. */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../../errors.ts';
import { watchCrumbs } from '../../streams/crumbs.ts';
import type { ApiSettings } from '../settings.ts';

/**
 * A window of time must bring a certain number of bytes, and a chunked body must not come in tiny pieces.
 * @param refuse called at most once, with `BODY_TIMEOUT` or `BAD_REQUEST` @returns the end of watching
 */
export function watchPace(
  request: IncomingMessage,
  { paceWindowMs, paceBytes }: Pick<ApiSettings, 'paceWindowMs' | 'paceBytes'>,
  refuse: (failure: Failure) => void,
): () => void {
  let inWindow = 0;
  const count = (chunk: Buffer) => {
    inWindow += chunk.length;
  };
  const forget = watchCrumbs(request, () => {
    stop();
    refuse(new Failure('BAD_REQUEST', { says: 'The body has too many small chunks: send larger ones, or a Content-Length.' }));
  });
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
    forget();
    request.off('data', count);
  };
  request.on('data', count);
  return stop;
}
