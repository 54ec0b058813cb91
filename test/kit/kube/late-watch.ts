/** A proxy to the API server that delays watches, and nothing else: a client that uses it has a stale cache. */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';

export interface LateWatch {
  /** Path of a copy of the given kubeconfig that names the proxy. */
  readonly kubeconfig: string;
  /** Watches that were opened through it. */
  readonly watches: () => number;
  close(): Promise<void>;
}

/** @param delayMs by how much each event of a watch is delayed */
export async function openLateWatch(kubeconfig: string, name: string, delayMs: number): Promise<LateWatch> {
  const config = JSON.parse(await readFile(kubeconfig, 'utf8')) as {
    clusters: [{ cluster: { server: string; 'certificate-authority-data': string; 'insecure-skip-tls-verify'?: boolean } }];
  };
  const [{ cluster }] = config.clusters;
  const [behind, ca] = [cluster.server, Buffer.from(cluster['certificate-authority-data'], 'base64')];
  let watches = 0;
  const server = createServer((asked, answer) => {
    const isWatch = /[?&]watch=true/.test(asked.url ?? '');
    if (isWatch) watches++;
    const { host: _, ...headers } = asked.headers;
    const far = request(new URL(asked.url ?? '/', behind), { method: asked.method, headers, ca });
    answer.on('close', () => far.destroy());
    far.on('error', () => answer.destroy());
    far.on('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      answer.flushHeaders();
      const said = isWatch ? later(response, delayMs) : response;
      pipeline(said, answer).catch(() => answer.destroy());
    });
    asked.pipe(far);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // The library speaks plain HTTP to those only who ask for it so.
  cluster['insecure-skip-tls-verify'] = true;
  cluster.server = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const path = `${kubeconfig}.${name}`;
  await writeFile(path, JSON.stringify(config));
  return {
    kubeconfig: path,
    watches: () => watches,
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function* later(chunks: AsyncIterable<Buffer>, delayMs: number): AsyncGenerator<Buffer> {
  const heard: { readonly chunk: Buffer; readonly at: number }[] = [];
  let wake = Promise.withResolvers<void>();
  let over = false;
  const reading = (async () => {
    for await (const chunk of chunks) {
      heard.push({ chunk, at: performance.now() + delayMs });
      wake.resolve();
    }
  })()
    .catch(() => {})
    .finally(() => {
      over = true;
      wake.resolve();
    });
  for (;;) {
    const next = heard.shift();
    if (next !== undefined) {
      await pause(Math.max(0, next.at - performance.now()));
      yield next.chunk;
    } else if (over) break;
    else {
      await wake.promise;
      wake = Promise.withResolvers<void>();
    }
  }
  await reading;
}
