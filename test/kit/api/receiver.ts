/** A server that receives webhooks, at 127.0.0.2: it answers by path as a test says, and keeps what came. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface ReceivedMessage {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly messages: readonly ReceivedMessage[];
  /** Those of one path. */
  at(path: string): readonly ReceivedMessage[];
  /** By default 200; a function may hold the answer back. */
  answer(path: string, as: number | ((response: ServerResponse) => void)): void;
  close(): Promise<void>;
}

export async function startReceiver(port = 0): Promise<Receiver> {
  const messages: ReceivedMessage[] = [];
  const answers = new Map<string, number | ((response: ServerResponse) => void)>();
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    messages.push({ path, headers: request.headers, body: await text(request).catch(() => '') });
    const as = answers.get(path) ?? 200;
    if (typeof as === 'number') response.writeHead(as).end();
    else as(response);
  });
  server.listen(port, '127.0.0.2');
  await once(server, 'listening');
  const { port: listening } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.2:${listening}`,
    port: listening,
    messages,
    at: (path) => messages.filter((message) => message.path === path),
    answer: (path, as) => void answers.set(path, as),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
