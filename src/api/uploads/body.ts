/** The body of a request that may break off: what was received until then is kept. */
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import type { Failure } from '../../errors.ts';
import { askForBody } from '../http/expect.ts';
import { watchPace } from '../http/pace.ts';
import type { ApiSettings } from '../settings.ts';

export interface UploadBody {
  /** Reading begins with the first chunk pulled. It ends without an error where the connection breaks or is too slow. */
  readonly chunks: AsyncGenerator<Uint8Array>;
  /** Why reading was aborted, if it was. */
  readonly refused: () => Failure | undefined;
  /** Ends the reading, however far it is. */
  readonly stop: () => void;
}

export function uploadBody(request: IncomingMessage, settings: ApiSettings): UploadBody {
  // The reader takes everything received so far in one piece, and does not wait for more: what was received is kept if no more follows.
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
