/** `/livez`, `/readyz` and `/metrics` of a role that serves no other requests. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from './metrics.ts';

export interface Probes {
  readonly port: number;
  close(): Promise<void>;
}

type Verdict = boolean | string;

interface Probed {
  /** 0 takes a free one. */
  readonly port: number;
  readonly host: string;
  /** Whether it can do its work now; a string is the reason why not. */
  readonly ready: () => Verdict | Promise<Verdict>;
  /** False if a restart would help. */
  readonly live: () => boolean | Promise<boolean>;
  readonly metrics: Pick<Metrics, 'text' | 'contentType'>;
}

/** How long an answer may take, ms. */
const ANSWER_MS = 5_000;

/** @throws the system's error if it cannot listen on the port */
export async function serveProbes({ port, host, ready, live, metrics }: Probed): Promise<Probes> {
  const whether = (ask: () => Verdict | Promise<Verdict>) => async (answer: ServerResponse) => {
    const verdict = await within(ask);
    const text = typeof verdict === 'string' ? `not ready: ${verdict}\n` : 'not now\n';
    answer.writeHead(verdict === true ? 200 : 503, { 'content-type': 'text/plain' }).end(verdict === true ? 'ok\n' : text);
  };
  const paths: Readonly<Record<string, (answer: ServerResponse) => Promise<void>>> = {
    '/livez': whether(live),
    '/readyz': whether(ready),
    '/metrics': async (answer) => {
      const text = await within(() => metrics.text());
      answer.writeHead(200, { 'content-type': metrics.contentType }).end(text);
    },
  };
  const server = createServer((request, answer) => {
    const path = request.url?.split('?')[0] ?? '';
    const respond = Object.hasOwn(paths, path) && request.method === 'GET' ? paths[path] : undefined;
    if (respond === undefined) answer.writeHead(404).end();
    else respond(answer).catch(() => (answer.headersSent ? answer.destroy() : answer.writeHead(503).end()));
  });
  server.headersTimeout = ANSWER_MS;
  server.maxConnections = 64;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(port, host, resolve);
  await promise;
  // A connection that could not be accepted, for example for lack of file descriptors.
  server.on('error', () => {});
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function within<T>(ask: () => T | Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('no answer in time')), ANSWER_MS);
  try {
    return await Promise.race([ask(), promise]);
  } finally {
    clearTimeout(timer);
  }
}
