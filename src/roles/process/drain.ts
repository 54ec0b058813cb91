/** The connections of a server that stops: those with an answer or an upload under way have some time for it, all others none. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A client that still sends its headers, or takes the last bytes of an answer, has as long as this, ms. So have streams of events, which are followed again elsewhere. */
const SOON_MS = 500;

/** @param server that has no connection yet @returns to be called just before the server is closed, which closes idle connections itself */
export function drainable(server: Server): (limitMs: number) => void {
  const sockets = new Set<Socket>();
  const pending = new Set<ServerResponse>();
  let draining = false;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    pending.add(response);
    response.once('close', () => {
      pending.delete(response);
      // Kept alive, it would delay the end until its client has been silent for a minute.
      if (draining) socket.destroySoon();
    });
  });
  return (limitMs) => {
    draining = true;
    const cutOthers = () => {
      const busy = new Set([...pending].filter((response) => !isEventStream(response)).map(({ req }) => req.socket));
      for (const socket of sockets) if (!busy.has(socket)) socket.destroy();
    };
    setTimeout(cutOthers, Math.min(SOON_MS, limitMs)).unref();
    setTimeout(() => server.closeAllConnections(), limitMs).unref();
  };
}

const isEventStream = (response: ServerResponse): boolean => String(response.getHeader('content-type')).startsWith('text/event-stream');
