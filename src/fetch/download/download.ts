/** The guarded download: checks the URL and the addresses of every redirect, connects to a checked address only, and bounds time and size. */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { fileTooLarge } from '../../errors.ts';
import { type Deadline, startDeadline, within } from '../../streams/deadline.ts';
import type { Connector } from '../connector.ts';
import { urlRefused } from '../refusal.ts';
import type { FetchSettings } from '../settings.ts';
import { type ConnectTarget, type JudgeUrl, judgeUrl } from '../url.ts';
import { limitedBody } from './body.ts';
import { exchange, type Headers } from './exchange.ts';
import { sentName } from './name.ts';
import { secured } from './tls.ts';

export interface Download {
  /** Fails with a Failure; destroy it if it is not read to its end. */
  readonly body: Readable;
  /** From the server, not cleaned; may be empty. */
  readonly name: string;
  /** `Content-Length`. Without it, an early end of an HTTP/1.0 body goes unnoticed. */
  readonly declaredBytes: number | undefined;
  /** Media type in lower case without parameters, as the server claims. */
  readonly contentType: string | undefined;
}

/**
 * @param url as it came from a client
 * @param credentials headers for the URL's own origin: after the first redirect to another origin they are not sent (RFC 9110, 15.4)
 * @throws Failure `URL_REFUSED` with `details.reason`, `FILE_TOO_LARGE` where the length is declared, `OVERLOADED` · the reason of `signal`
 */
export type Fetch = (url: string, maxBytes: number, signal: AbortSignal, credentials?: Headers) => Promise<Download>;

/** @param ca certificates in PEM that are trusted instead of Node's @param judge of each URL on the way */
export function guardedFetch(settings: FetchSettings, connector: Connector, ca?: readonly string[], judge: JudgeUrl = judgeUrl): Fetch {
  return async (text, maxBytes, signal, credentials = {}) => {
    const deadline = startDeadline(settings.totalMs, signal, () => late('The file was not fetched in time.'));
    try {
      return await follow(judge(text, settings), credentials, settings.maxRedirects, maxBytes, deadline);
    } catch (error) {
      deadline.stop();
      throw error;
    }
  };

  async function follow(
    target: ConnectTarget,
    credentials: Headers,
    redirects: number,
    maxBytes: number,
    deadline: Deadline,
  ): Promise<Download> {
    const response = await ask(target, credentials, deadline.signal);
    try {
      const location = redirection(response);
      if (location === undefined) return accept(response, target, maxBytes, deadline);
      response.destroy();
      if (redirects === 0) throw urlRefused('redirects', { details: { max: settings.maxRedirects } });
      const next = judge(location, settings, target.url);
      return await follow(next, next.url.origin === target.url.origin ? credentials : {}, redirects - 1, maxBytes, deadline);
    } catch (error) {
      response.destroy();
      throw error;
    }
  }

  async function ask(target: ConnectTarget, credentials: Headers, signal: AbortSignal): Promise<IncomingMessage> {
    const { connectMs, headersMs, maxHeaderBytes } = settings;
    const tooSlow = (what: string) => () => late(`The server in the URL did not ${what} in time.`);
    const plain = await connector.connect(target, signal);
    try {
      const safe = (limited: AbortSignal) => secured(plain, target, ca, limited);
      const socket = target.secure ? await within(connectMs, signal, tooSlow('set up a secure connection'), safe) : plain;
      return await within(headersMs, signal, tooSlow('answer'), (limited) =>
        exchange(target, socket, credentials, maxHeaderBytes, limited),
      );
    } catch (error) {
      plain.destroy();
      throw error;
    }
  }

  function accept(response: IncomingMessage, { url }: ConnectTarget, maxBytes: number, deadline: Deadline): Download {
    const { statusCode: status, headers } = response;
    if (status !== 200)
      throw urlRefused('unreachable', {
        says: `The server in the URL answers with status ${status}.`,
        details: { status },
        retryable: mayPass(status),
      });
    // We asked for no content coding. Decoding would need its own bounds, and would change files that are stored compressed.
    if (isEncoded(headers))
      throw urlRefused('unreachable', {
        says: 'The server in the URL sends the file with a content coding that the service did not request.',
        retryable: false,
      });
    const declared = headers['content-length'];
    const declaredBytes = declared === undefined ? undefined : Number(declared);
    if (declaredBytes !== undefined && declaredBytes > maxBytes) throw fileTooLarge(maxBytes, declaredBytes);
    return {
      body: limitedBody(response, { maxBytes, idleMs: settings.idleMs, minBytesPerSecond: settings.minBytesPerSecond }, deadline),
      name: sentName(headers['content-disposition'], url),
      declaredBytes,
      contentType: headers['content-type']?.split(';')[0]?.trim().toLowerCase() || undefined,
    };
  }
}

/** Too early, too often, or trouble on the server's side (RFC 9110 §15, RFC 8470, RFC 6585). */
const mayPass = (status = 0): boolean => status >= 500 || [408, 425, 429].includes(status);

const late = (says: string) => urlRefused('unreachable', { says });

/** The target of a redirect (RFC 9110, 15.4). One without `Location` is refused later by its status. */
function redirection({ statusCode = 0, headers: { location } }: IncomingMessage): string | undefined {
  return [301, 302, 303, 307, 308].includes(statusCode) ? location : undefined;
}

function isEncoded(headers: IncomingMessage['headers']): boolean {
  const content = headers['content-encoding']?.trim().toLowerCase() || 'identity';
  const transfer = headers['transfer-encoding']?.trim().toLowerCase() || 'chunked';
  return content !== 'identity' || transfer !== 'chunked';
}
