/** A proxy in front of a service that lets through only requests with credentials, as companies have. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Guard {
  /** With a path, which the service behind it does not see. */
  readonly url: string;
  /** Requests that came without the credentials, by method and path. */
  readonly refused: readonly string[];
  close(): Promise<void>;
}

/** @param accepts whether a request may pass @param refusal how the others are answered */
export async function startGuard(
  to: string,
  accepts: (headers: IncomingHttpHeaders) => boolean,
  refusal: { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string } = { status: 401 },
): Promise<Guard> {
  const refused: string[] = [];
  const server = createServer((sent, answer) => {
    if (!accepts(sent.headers)) {
      refused.push(`${sent.method} ${sent.url}`);
      sent.resume();
      answer.writeHead(refusal.status, { 'content-type': 'text/html', ...refusal.headers }).end(refusal.body ?? '<html><h1>No</h1></html>');
      return;
    }
    const passed = request(to + (sent.url ?? '').replace(/^\/inner/, ''), { method: sent.method, headers: sent.headers }, (received) => {
      answer.writeHead(received.statusCode ?? 502, received.headers);
      received.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    sent.pipe(passed);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/inner`,
    refused,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
