/** Reads a body in blocks: refuses one that arrives too slowly, and reads no faster than its reader takes it. */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../../errors.ts';
import { Coalesce } from '../../streams/coalesce.ts';
import type { ApiSettings } from '../settings.ts';
import { askForBody } from './expect.ts';
import { watchPace } from './pace.ts';

/**
 * @param take is given the body in order; what it throws ends the reading
 * @throws Failure `BODY_TIMEOUT`, `BAD_REQUEST` · what `take` throws
 */
export async function readBlocks(
  request: IncomingMessage,
  settings: Pick<ApiSettings, 'paceWindowMs' | 'paceBytes'>,
  take: (block: Buffer) => void,
): Promise<void> {
  const blocks = new Coalesce();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // A connection that breaks is the client's doing, whatever Node calls it.
  const incomplete = (cause?: Error) => {
    if (!request.complete) reject(new Failure('BAD_REQUEST', { says: 'The request is incomplete.', cause }));
  };
  let wanted = true;
  const refuse = (error: unknown) => {
    // At once: the same read from the network may bring thousands of pieces more before the refusal takes effect.
    request.unpipe(blocks);
    wanted = false;
    reject(error);
  };
  blocks.on('data', (block: Buffer) => {
    if (!wanted) return;
    try {
      take(block);
    } catch (error) {
      refuse(error);
    }
  });
  blocks.once('end', resolve);
  const unsubscribe = watchPace(request, settings, refuse);
  request.on('error', incomplete).once('close', incomplete);
  if (request.destroyed) incomplete();
  askForBody(request);
  request.pipe(blocks);
  try {
    await promise;
  } finally {
    unsubscribe();
    request.off('close', incomplete);
    request.unpipe(blocks);
    blocks.destroy();
  }
}
