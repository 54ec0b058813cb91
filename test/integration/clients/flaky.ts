/** A proxy before a service that loses requests, answers and connections as a test says. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Passed {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly at: number;
}

/** `refuse`: 503 with Retry-After; `lose`: the answer never arrives; `cut`: the connection ends in the middle of the request's body, or of the answer's. */
export type Fault = { readonly refuse: number } | 'lose' | 'cut request' | 'cut answer';

export interface FlakyProxy {
  readonly url: string;
  readonly passed: readonly Passed[];
  /** Applies to the next request with this method and start of its path. */
  next(method: string, path: string, fault: Fault): void;
  close(): Promise<void>;
}

export async function startFlakyProxy(target: string): Promise<FlakyProxy> {
  const passed: Passed[] = [];
  const faults: { method: string; path: string; fault: Fault }[] = [];
  const server = createServer((asked, response) => {
    const { method = '', url: path = '', headers } = asked;
    passed.push({ method, path, headers, at: performance.now() });
    const at = faults.findIndex((each) => each.method === method && path.startsWith(each.path));
    const fault = at < 0 ? undefined : faults.splice(at, 1)[0]?.fault;
    if (typeof fault === 'object') {
      asked.resume();
      response.writeHead(503, { 'retry-after': String(fault.refuse) }).end();
    } else pass(asked, response, target, fault);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    next: (method, path, fault) => void faults.push({ method, path, fault }),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function pass(asked: IncomingMessage, response: ServerResponse, target: string, fault: Fault | undefined): void {
  const { method, url, headers } = asked;
  const onward = request(target + url, { method, headers: { ...headers, host: new URL(target).host } }, (answer) => {
    if (fault === 'lose') {
      answer.resume();
      asked.socket.destroy();
      return;
    }
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    if (fault !== 'cut answer') return void answer.pipe(response);
    const cut = (chunk: Buffer) => void response.write(chunk.subarray(0, chunk.length / 2), () => asked.socket.destroy());
    answer.once('data', cut);
  });
  onward.on('error', () => asked.socket.destroy());
  if (fault !== 'cut request') return void asked.pipe(onward);
  asked.once('data', (chunk: Buffer) => {
    onward.write(chunk.subarray(0, chunk.length / 2), () => {
      onward.destroy();
      asked.socket.destroy();
    });
  });
}
