/** Answers that nobody reads: a connection whose client takes no byte of what waits for it is closed, whatever the answer is. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** How often all connections are looked at while a client may stall: the bound is kept to this part of it. */
const LOOKS = 4;

interface Seen {
  taken: number;
  /** By `performance.now()`. */
  since: number;
}

/** @param stalledMs from the last byte that the client's side took to the end */
export function closeStalled(server: Server, stalledMs: number): void {
  const connections = new Map<Socket, Seen>();
  server.on('connection', (socket: Socket) => {
    connections.set(socket, { taken: 0, since: performance.now() });
    socket.once('close', () => connections.delete(socket));
  });
  // One timer for all, and none for each chunk.
  const timer = setInterval(() => {
    const now = performance.now();
    for (const [socket, seen] of connections) {
      const taken = takenOf(socket);
      if (taken === seen.taken && socket.writableLength > 0) {
        if (now - seen.since >= stalledMs) socket.destroy(new Error('the client reads no answer'));
        continue;
      }
      seen.taken = taken;
      seen.since = now;
    }
  }, stalledMs / LOOKS);
  timer.unref();
  server.once('close', () => clearInterval(timer));
}

interface Handle {
  readonly bytesWritten?: number;
  readonly writeQueueSize?: number;
}

/** Bytes that the system has taken: it does so as the other end makes room. */
function takenOf(socket: Socket): number {
  // Of one write a part may have gone, and `bytesWritten` of the stream counts what waits in it: only the handle tells. Node itself looks there.
  const { bytesWritten, writeQueueSize } = (socket as unknown as { readonly _handle?: Handle | null })._handle ?? {};
  if (bytesWritten === undefined || writeQueueSize === undefined) return socket.bytesWritten - socket.writableLength;
  return bytesWritten - writeQueueSize;
}
