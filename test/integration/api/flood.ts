/** Connections that send requests as fast as they are taken, in a separate thread: what they cost to send is not the service's. */

import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

export interface Flood {
  readonly connections: number;
  /** Written again and again, in one piece of `bytes`. */
  readonly request: string;
  /** The size of that piece on each connection. */
  readonly bytes: number;
  /** Whether the answers are read. */
  readonly reads: boolean;
}

export interface Flooding {
  /** Closes all connections. */
  stop(): Promise<void>;
}

/** Resolves when all connections are open and have been given what they send. */
export async function flood(url: string, sent: Flood): Promise<Flooding> {
  const thread = new Worker(new URL(import.meta.url), { workerData: { ...sent, url } });
  await new Promise<void>((resolve, reject) => thread.once('message', resolve).once('error', reject));
  return { stop: async () => void (await thread.terminate()) };
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What this process has of the machine's memory, without garbage, bytes: also what waits to be taken by the kernel, which no heap counts. */
export function memoryInUse(): number {
  collectGarbage();
  return process.memoryUsage.rss();
}

async function send({ url, connections, request, bytes, reads }: Flood & { readonly url: string }): Promise<void> {
  const { hostname, port } = new URL(url);
  // Read into one place, and dropped: garbage of this thread would count as the service's memory.
  const onread = { buffer: Buffer.alloc(64 * 1024), callback: () => true };
  const piece = Buffer.from(request.repeat(Math.max(1, Math.floor(bytes / request.length))));
  const opened = Array.from({ length: connections }, async () => {
    const socket = connect({ host: hostname, port: Number(port), ...(reads && { onread }) });
    // A connection that the service ends is ended.
    socket.on('error', () => {});
    if (!reads) socket.pause();
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
    socket.write(piece);
  });
  await Promise.all(opened);
  parentPort?.postMessage('sent');
}

if (!isMainThread) void send(workerData as Flood & { readonly url: string });
