/** One HTTP request over one connection that is not used again. */
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { onAbort } from '../../streams/abort.ts';
import { refused } from '../refusal.ts';
import type { Target } from '../url.ts';

/** By name in lower case. */
export type Headers = Readonly<Record<string, string>>;

/**
 * @param credentials headers that tell who asks
 * @param maxHeaderBytes of status line and headers together
 * @param signal ends the exchange until it is answered; the body has limits of its own
 * @returns the answer, its body not yet read; destroying it closes the connection
 * @throws Failure `URL_REFUSED`: unreachable · the reason of `signal`
 */
export function exchange(
  { url }: Target,
  socket: Socket,
  credentials: Headers,
  maxHeaderBytes: number,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = request({
      createConnection: () => socket,
      path: `${url.pathname}${url.search}`,
      headers: {
        ...credentials,
        host: url.host,
        'user-agent': 'filemill',
        accept: '*/*',
        // Nothing is decoded, so that nothing small becomes large: see `download`.
        'accept-encoding': 'identity',
        connection: 'close',
      },
      maxHeaderSize: maxHeaderBytes,
      insecureHTTPParser: false,
    });
    let answered: IncomingMessage | undefined;
    const unsubscribe = onAbort(signal, (reason) => {
      asked.destroy();
      reject(reason);
    });
    asked
      .on('close', unsubscribe)
      .on('response', (response) => {
        answered = response.on('error', () => undefined);
        resolve(response);
      })
      .on('upgrade', (_response, taken: Socket) => {
        taken.destroy();
        reject(refused('unreachable', { says: 'The server in the URL does not answer with a file.' }));
      })
      .on('error', (cause: NodeJS.ErrnoException) => {
        // Node takes a connection that broke off for the end of a body without a length. What it could not parse it tells the body itself.
        if (cause.syscall !== undefined) answered?.destroy(cause);
        reject(refused('unreachable', { says: 'The server in the URL gives no valid answer.', cause }));
      })
      .end();
  });
}
