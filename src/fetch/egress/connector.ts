/** The way through the role `egress`: a tunnel to a server that was judged and connected to over there. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { Failure } from '../../errors.ts';
import { onAbort } from '../../streams/abort.ts';
import type { Connector } from '../connector.ts';
import { within } from '../deadline.ts';
import { refusalFrom } from '../refusal.ts';
import type { FetchSettings } from '../settings.ts';
import type { Target } from '../url.ts';

/** Who may ask, in the header `Proxy-Authorization` (RFC 9110, 11.7.2; RFC 6750, 2.1). */
export const bearer = (token: string): string => `Bearer ${token}`;
/** A refusal in the words of `wordOf`. */
export const REFUSAL = 'filemill-refusal';
/** The tunnel is for a source or output of a ConversionJob: what `fetch.privateOrigins` lists may be reached. */
export const PRIVATE = 'filemill-private';
/** A request below it is answered with a judgement and no connection. */
export const JUDGE = '/judge/';

/** Egress has as long as we would have had, and this long to say so, ms. */
const SLACK_MS = 2_000;

interface Answered {
  readonly response: IncomingMessage;
  /** Of a tunnel; no bytes have been taken from it. */
  readonly socket: Socket;
}

/** @param url of egress @param token that it knows us by @param isPrivate for sources and outputs of ConversionJobs */
export function egressConnector(
  url: string,
  token: string,
  { resolveMs, connectMs }: Pick<FetchSettings, 'resolveMs' | 'connectMs'>,
  isPrivate = false,
): Connector {
  const { hostname, port } = new URL(url);
  const ask = (method: string, path: string, signal: AbortSignal): Promise<Answered> => {
    const late = () => outOfReach(new Error('it did not answer in time'));
    const options = { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port || 80, method, path, agent: false };
    return within(resolveMs + connectMs + SLACK_MS, signal, late, (limited) =>
      answer(
        request({ ...options, headers: { 'proxy-authorization': bearer(token), ...(isPrivate ? { [PRIVATE]: 'yes' } : {}) } }),
        limited,
      ),
    );
  };
  return {
    async judge(target, signal) {
      const { response, socket } = await ask('GET', JUDGE + encodeURIComponent(authority(target)), signal);
      socket.destroy();
      expect(response, 204);
    },
    async connect(target, signal) {
      const { response, socket } = await ask('CONNECT', authority(target), signal);
      try {
        expect(response, 200);
      } catch (error) {
        socket.destroy();
        throw error;
      }
      return socket;
    },
  };
}

const authority = ({ url, port }: Target): string => `${url.hostname}:${port}`;

const outOfReach = (cause: unknown): Failure =>
  new Failure('OVERLOADED', { says: 'This service cannot reach the Internet at present: try again later.', cause });

/** @throws the refusal of egress; Failure `OVERLOADED` where it said something else */
function expect({ statusCode, headers }: IncomingMessage, status: number): void {
  if (statusCode === status) return;
  const word = headers[REFUSAL];
  if (typeof word !== 'string') throw outOfReach(new Error(`egress answered ${statusCode}`));
  throw refusalFrom(word);
}

function answer(asked: ClientRequest, signal: AbortSignal): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const settled = onAbort(signal, (reason) => {
      asked.destroy();
      reject(reason);
    });
    asked
      .on('connect', (response: IncomingMessage, socket: Socket, head: Buffer) => {
        settled();
        // Whoever uses it hears of errors; one that comes before must not end the process.
        socket.on('error', () => undefined);
        if (head.length > 0) socket.unshift(head);
        resolve({ response, socket });
      })
      .on('response', (response) => {
        settled();
        resolve({ response, socket: response.socket });
      })
      .on('error', (cause) => {
        settled();
        reject(outOfReach(cause));
      })
      .end();
  });
}
