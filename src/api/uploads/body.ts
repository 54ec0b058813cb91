/** The body of a request that may break off: what came until then is kept. */
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import type { Failure } from '../../errors.ts';
import { askForBody } from '../http/expect.ts';
import { watchPace } from '../http/pace.ts';
import type { ApiSettings } from '../settings.ts';

export interface UploadBody {
  /** Reading begins with the first chunk asked for. It ends, and does not fail, where the connection does or comes too slowly. */
  readonly chunks: AsyncGenerator<Uint8Array>;
  /** Why it was given up, where it was. */
  readonly refused: () => Failure | undefined;
  /** Ends the reading, wherever it is. */
  readonly stop: () => void;
}

export function uploadBody(request: IncomingMessage, settings: ApiSettings): UploadBody {
  // Whoever reads it takes all that has come so far in one piece; nothing waits for more, as what came is kept if no more does.
  const body = new PassThrough();
  let refused: Failure | undefined;
  let unsubscribe = () => {};
  const stop = () => {
    unsubscribe();
    request.off('close', stop);
    request.unpipe(body);
    body.end();
  };
  async function* chunks(): AsyncGenerator<Uint8Array> {
    if (request.destroyed || body.writableEnded) return;
    request.once('close', stop);
    unsubscribe = watchPace(request, settings, (failure) => {
      refused = failure;
      stop();
    });
    askForBody(request);
    request.pipe(body);
    yield* body;
  }
  return { chunks: chunks(), refused: () => refused, stop };
}
