/** Closes stalled connections: those whose client reads no byte of its answer for too long. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** How many times all connections are checked within the time that a client may stall. */
const CHECKS = 4;

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
  }, stalledMs / CHECKS);
  timer.unref();
  server.once('close', () => clearInterval(timer));
}

interface Handle {
  readonly bytesWritten?: number;
  readonly writeQueueSize?: number;
}

/** Bytes that the kernel has accepted: it accepts more as the client reads. */
function takenOf(socket: Socket): number {
  // The stream's `bytesWritten` counts bytes that still wait in it: only the handle knows how much of a write is gone. Node reads it there, too.
  const { bytesWritten, writeQueueSize } = (socket as unknown as { readonly _handle?: Handle | null })._handle ?? {};
  if (bytesWritten === undefined || writeQueueSize === undefined) return socket.bytesWritten - socket.writableLength;
  return bytesWritten - writeQueueSize;
}
