/** Sends one HTTP request over a connection that is not reused. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { onAbort } from '../../streams/abort.ts';
import { urlRefused } from '../refusal.ts';
import type { ConnectTarget } from '../url.ts';

const MOST_INTERIM = 20;

/** Ends a request whose server sends interim responses (RFC 9110 §15.2) without end: Node reads them without a bound. */
export function boundInterim(asked: ClientRequest): void {
  let interim = 0;
  asked.on('information', () => {
    if (++interim > MOST_INTERIM) asked.destroy(new Error('the server sends interim responses without end'));
  });
}

/** How long a server is waited for that may not know `Expect: 100-continue`, ms (RFC 9110 §10.1.1: not without end). */
const CONTINUE_MS = 2_000;

/** By name in lower case. */
export type Headers = Readonly<Record<string, string>>;

/** A request with a body. */
export interface SentBody {
  readonly method: 'POST' | 'PUT';
  readonly type: string;
  /** Its length, bytes. */
  readonly bytes: number;
  readonly content: Buffer | Readable;
}

/**
 * @param credentials headers that tell who asks
 * @param maxHeaderBytes of status line and headers together
 * @param signal ends the exchange until the response arrives; the body has its own limits
 * @param sent GET without it
 * @returns the response, its body unread; destroying it closes the connection
 * @throws Failure `URL_REFUSED`: unreachable · the reason of `signal`
 */
export function exchange(
  { url }: ConnectTarget,
  socket: Socket,
  credentials: Headers,
  maxHeaderBytes: number,
  signal: AbortSignal,
  sent?: SentBody,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = request({
      createConnection: () => socket,
      path: `${url.pathname}${url.search}`,
      ...(sent === undefined ? {} : { method: sent.method }),
      headers: {
        ...credentials,
        ...(sent === undefined ? {} : { 'content-type': sent.type, 'content-length': sent.bytes }),
        host: url.host,
        'user-agent': 'filemill',
        accept: '*/*',
        // A refusal that comes while a file is sent would be lost with the connection.
        ...(sent === undefined || Buffer.isBuffer(sent.content) ? {} : { expect: '100-continue' }),
        // Nothing is decoded, so a small body cannot become a large file: see `download.ts`.
        'accept-encoding': 'identity',
        connection: 'close',
      },
      maxHeaderSize: maxHeaderBytes,
      insecureHTTPParser: false,
    });
    boundInterim(asked);
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
        reject(urlRefused('unreachable', { says: 'The server in the URL does not respond with a file.', retryable: false }));
      })
      .on('error', (cause: NodeJS.ErrnoException) => {
        // Node takes a broken connection for the end of a body without a length. Parse errors it reports to the body itself.
        if (cause.syscall !== undefined) answered?.destroy(cause);
        reject(urlRefused('unreachable', { says: 'The server in the URL did not send a valid HTTP response.', cause }));
      });
    if (sent === undefined || Buffer.isBuffer(sent.content)) asked.end(sent?.content);
    else sendStream(asked, sent.content, () => answered !== undefined);
  });
}

/** Sends nothing of a file to a server that refuses it by its headers. */
function sendStream(asked: ClientRequest, content: Readable, isAnswered: () => boolean): void {
  let isBegun = false;
  const begin = (): void => {
    clearTimeout(timer);
    if (isBegun || asked.destroyed || isAnswered()) return;
    isBegun = true;
    // A failure of either is heard by the request; a server may answer before it has read all.
    pipeline(content, asked, (cause) => cause && !isAnswered() && asked.destroy(cause));
  };
  const timer = setTimeout(begin, CONTINUE_MS);
  asked
    .on('continue', begin)
    .on('response', () => clearTimeout(timer))
    .on('close', () => clearTimeout(timer));
}
