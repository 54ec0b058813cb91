/** Requests to the API server over keep-alive connections, each aborted by its signal. */
import http from 'node:http';
import https from 'node:https';
import { unlessAborted } from '../../streams/abort.ts';
import type { Caller } from './caller.ts';
import { serverClock } from './clock.ts';
import { KubeError } from './error.ts';

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Including the query. */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
}

export interface Transport {
  /**
   * Resolves with the response head, whatever its status.
   * @throws KubeError `Unreachable`; the signal's reason if it aborted the request
   */
  send(request: KubeRequest, signal: AbortSignal): Promise<http.IncomingMessage>;
  /** The server's time, ms since the epoch. */
  now(): number;
  close(): void;
}

export function openTransport({ server, credentials }: Caller): Transport {
  const { request, Agent } = server.protocol === 'http:' ? http : https;
  const agent = new Agent({ keepAlive: true });
  const clock = serverClock();

  const attempt = async ({ method, path, body, contentType = 'application/json' }: KubeRequest, signal: AbortSignal) => {
    // A credentials program may hang, and takes no signal.
    const own = await unlessAborted(credentials(), signal);
    const headers: http.OutgoingHttpHeaders = { ...(own.headers as http.OutgoingHttpHeaders), accept: 'application/json' };
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    if (bytes !== undefined) Object.assign(headers, { 'content-type': contentType, 'content-length': bytes.length });
    const target = new URL(server.pathname.replace(/\/$/, '') + path, server);
    return new Promise<http.IncomingMessage>((resolve, reject) => {
      const asked = performance.now();
      const outgoing = request(target, { agent, ...own, method, headers, signal });
      outgoing.once('response', (response) => {
        clock.learn(response.headers.date, asked, performance.now());
        // A reader gets the error too; without a listener it would end the process.
        response.on('error', () => {});
        resolve(response);
      });
      outgoing.on('error', (error) => reject(Object.assign(error, { stale: outgoing.reusedSocket })));
      outgoing.end(bytes);
    });
  };

  return {
    async send(request, signal) {
      for (let again = request.method !== 'POST'; ; again = false) {
        try {
          signal.throwIfAborted();
          return await attempt(request, signal);
        } catch (error) {
          if (signal.aborted) throw signal.reason;
          // The server closed an idle connection just as it was reused.
          if (again && (error as { stale?: boolean }).stale === true) continue;
          throw unreachable(error);
        }
      }
    },
    now: clock.now,
    close: () => agent.destroy(),
  };
}

export const unreachable = (cause: unknown): KubeError =>
  new KubeError(0, 'Unreachable', `the API server cannot be reached: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
