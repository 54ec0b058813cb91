/** A way to a real S3 server that can refuse what comes by a granted URL, or with credentials that are to have expired. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface S3Front {
  /** In place of the server's. */
  readonly endpoint: string;
  /** The requests by granted URLs that were refused: `GET /bucket/key`. */
  readonly refused: string[];
  /** Whether a request by a granted URL is answered 403, as S3 answers one whose signature has lapsed. */
  refuse: (asked: string) => boolean;
  /** Access key ids whose requests AWS would refuse: temporary credentials of MinIO last a quarter of an hour at least. */
  readonly expired: Set<string>;
  close(): Promise<void>;
}

export async function openS3Front(endpoint: string): Promise<S3Front> {
  const { hostname, port } = new URL(endpoint);
  const server = createServer((incoming, answer) => {
    const url = new URL(incoming.url ?? '/', endpoint);
    const asked = `${incoming.method} ${url.pathname}`;
    if (url.searchParams.has('X-Amz-Signature') && front.refuse(asked)) {
      front.refused.push(asked);
      incoming.resume();
      answer.writeHead(403, { 'content-type': 'application/xml' }).end('<Error><Code>AccessDenied</Code></Error>');
      return;
    }
    const who =
      /Credential=([^/]+)\//.exec(incoming.headers.authorization ?? '')?.[1] ?? url.searchParams.get('X-Amz-Credential')?.split('/')[0];
    if (front.expired.has(who ?? '')) {
      incoming.resume();
      const says = '<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>';
      answer.writeHead(400, { 'content-type': 'application/xml' }).end(incoming.method === 'HEAD' ? undefined : says);
      return;
    }
    // The signature is one of the host that was asked: its name goes on unchanged.
    const { method, headers, url: path } = incoming;
    const onward = request({ hostname, port, method, path, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    incoming.pipe(onward);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const front: S3Front = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused: [],
    refuse: () => false,
    expired: new Set(),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return front;
}
