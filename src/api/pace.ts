/** Gives up on bodies that trickle: a window of time must bring a certain number of bytes. */
import type { IncomingMessage } from 'node:http';
import type { ApiSettings } from './settings.ts';

/** @param tooSlow called at most once @returns the end of watching */
export function watchPace(
  request: IncomingMessage,
  { paceWindowMs, paceBytes }: Pick<ApiSettings, 'paceWindowMs' | 'paceBytes'>,
  tooSlow: () => void,
): () => void {
  let bytes = 0;
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
  };
  const timer = setInterval(() => {
    if (request.complete) return;
    if (bytes < paceBytes) {
      stop();
      tooSlow();
    }
    bytes = 0;
  }, paceWindowMs);
  const stop = () => {
    clearInterval(timer);
    request.off('data', count);
  };
  request.on('data', count);
  return stop;
}
