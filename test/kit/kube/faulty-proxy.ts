/** A proxy to the API server whose connections a test can cut, or keep open while nothing comes through. */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';

export interface FaultyProxy {
  /** Path of a copy of the given kubeconfig that names the proxy. */
  readonly kubeconfig: string;
  /** How many connections were made so far. */
  readonly made: number;
  /** Ends all connections; new ones may be made. */
  cut(): void;
  /** Refuses new connections too, until `open`. */
  shut(): void;
  /** Connections stay, and nothing passes, until `open`. */
  swallow(): void;
  /** As a server that is too busy: nothing passes until `open`, and then all of it does. */
  stall(): void;
  open(): void;
  close(): Promise<void>;
}

export async function startFaultyProxy(kubeconfig: string, name: string): Promise<FaultyProxy> {
  const config = JSON.parse(await readFile(kubeconfig, 'utf8')) as { clusters: [{ cluster: { server: string } }] };
  const { port, hostname } = new URL(config.clusters[0].cluster.server);
  const pairs = new Set<readonly [Socket, Socket]>();
  let made = 0;
  let mode: 'open' | 'shut' | 'swallowing' | 'stalling' = 'open';
  const link = (from: Socket, to: Socket) => {
    from.on('data', (bytes) => mode === 'swallowing' || to.write(bytes));
    from.on('error', () => {});
    from.on('close', () => to.destroy());
  };
  const server = createServer((near) => {
    if (mode === 'shut') {
      near.resetAndDestroy();
      return;
    }
    made += 1;
    const far = connect(Number(port), hostname);
    const pair = [near, far] as const;
    pairs.add(pair);
    link(near, far);
    link(far, near);
    if (mode === 'stalling') for (const socket of pair) socket.pause();
    near.on('close', () => pairs.delete(pair));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  config.clusters[0].cluster.server = `https://127.0.0.1:${(server.address() as { port: number }).port}`;
  const path = `${kubeconfig}.${name}`;
  await writeFile(path, JSON.stringify(config));
  const cut = () => {
    for (const [near] of pairs) near.resetAndDestroy();
  };
  return {
    kubeconfig: path,
    get made() {
      return made;
    },
    cut,
    shut() {
      mode = 'shut';
      cut();
    },
    swallow() {
      mode = 'swallowing';
    },
    stall() {
      mode = 'stalling';
      for (const pair of pairs) for (const socket of pair) socket.pause();
    },
    open() {
      mode = 'open';
      for (const pair of pairs) for (const socket of pair) socket.resume();
    },
    async close() {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}
