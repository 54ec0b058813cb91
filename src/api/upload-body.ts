/** The body of a request that may break off: what came until then is kept. */
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { askForBody } from './expect.ts';
import { watchPace } from './pace.ts';
import type { ApiSettings } from './settings.ts';

export interface UploadBody {
  /** Reading begins with the first chunk asked for. It ends, and does not fail, where the connection does or comes too slowly. */
  readonly chunks: AsyncGenerator<Uint8Array>;
  readonly tooSlow: () => boolean;
  /** Ends the reading, wherever it is. */
  readonly stop: () => void;
}

export function uploadBody(request: IncomingMessage, settings: ApiSettings): UploadBody {
  const body = new PassThrough();
  let slow = false;
  let unwatch = () => {};
  const stop = () => {
    unwatch();
    request.off('close', stop);
    request.unpipe(body);
    body.end();
  };
  async function* chunks(): AsyncGenerator<Uint8Array> {
    if (request.destroyed || body.writableEnded) return;
    request.once('close', stop);
    unwatch = watchPace(request, settings, () => {
      slow = true;
      stop();
    });
    askForBody(request);
    request.pipe(body);
    yield* body;
  }
  return { chunks: chunks(), tooSlow: () => slow, stop };
}
