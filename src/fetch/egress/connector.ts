/** The connector through the role `egress`, which checks the server's addresses, connects, and relays the bytes. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { Failure } from '../../errors.ts';
import { onAbort } from '../../streams/abort.ts';
import { within } from '../../streams/deadline.ts';
import type { Connector } from '../connector.ts';
import { refusalFrom } from '../refusal.ts';
import type { FetchSettings } from '../settings.ts';
import type { ConnectTarget } from '../url.ts';

/** Value of the header `Proxy-Authorization` (RFC 9110, 11.7.2; RFC 6750, 2.1). */
export const bearer = (token: string): string => `Bearer ${token}`;
/** Header with a refusal as `refusalHeader` writes it. */
export const REFUSAL = 'filemill-refusal';
/** The tunnel is for a source or output of a ConversionJob: what `fetch.privateOrigins` lists may be reached. */
export const PRIVATE = 'filemill-private';
/** A request below it is answered with a judgement and no connection. */
export const JUDGE = '/judge/';

/** Added to the time limits that egress itself has, for its answer to arrive, ms. */
const SLACK_MS = 2_000;

interface Answered {
  readonly response: IncomingMessage;
  /** The tunnel; no bytes were read from it. */
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
    const late = () => unavailable(new Error('it did not answer in time'));
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

const authority = ({ url, port }: ConnectTarget): string => `${url.hostname}:${port}`;

const unavailable = (cause: unknown): Failure =>
  new Failure('OVERLOADED', { says: 'This service cannot reach the Internet at present: try again later.', cause });

/** @throws the refusal that egress sent; Failure `OVERLOADED` for any other unexpected answer */
function expect({ statusCode, headers }: IncomingMessage, status: number): void {
  if (statusCode === status) return;
  const refusal = headers[REFUSAL];
  if (typeof refusal !== 'string') throw unavailable(new Error(`egress answered ${statusCode}`));
  throw refusalFrom(refusal);
}

function answer(sent: ClientRequest, signal: AbortSignal): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const unsubscribe = onAbort(signal, (reason) => {
      sent.destroy();
      reject(reason);
    });
    sent
      .on('connect', (response: IncomingMessage, socket: Socket, head: Buffer) => {
        unsubscribe();
        // The user of the socket adds its own listener; an error before that must not end the process.
        socket.on('error', () => undefined);
        if (head.length > 0) socket.unshift(head);
        resolve({ response, socket });
      })
      .on('response', (response) => {
        unsubscribe();
        resolve({ response, socket: response.socket });
      })
      .on('error', (cause) => {
        unsubscribe();
        reject(unavailable(cause));
      })
      .end();
  });
}
