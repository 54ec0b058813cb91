/** A client may close its side of the connection when its request is whole (RFC 9112 §9.6), and still wait for the answer. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** An answer that takes longer is preceded by an interim one, ms: writing it reveals a client that has gone, whose job is then cancelled. */
const PROBE_MS = 500;

/** A comment, which readers of events ignore. */
const COMMENT = ':\n\n';

const isEventStream = (response: ServerResponse): boolean =>
  response.headersSent && String(response.getHeader('content-type')).startsWith('text/event-stream');

/** Node reads the end of input as the end of the connection otherwise. Missing in its types. */
interface HalfOpenServer extends Server {
  httpAllowHalfOpen: boolean;
}

export function answerHalfClosed(server: Server): void {
  (server as HalfOpenServer).httpAllowHalfOpen = true;
  /** The requests of each connection, which are answered in order. */
  const answers = new WeakMap<Socket, Set<ServerResponse>>();
  server.on('connection', (socket: Socket) => {
    const pending = new Set<ServerResponse>();
    answers.set(socket, pending);
    let timer: NodeJS.Timeout | undefined;
    const probeLater = () => {
      timer = setTimeout(() => {
        const [next] = pending;
        if (next !== undefined) probe(next);
        probeLater();
      }, PROBE_MS);
    };
    socket.once('end', probeLater).once('close', () => clearTimeout(timer));
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const pending = answers.get(request.socket);
    pending?.add(response);
    response.once('close', () => pending?.delete(response));
  });
}

function probe(response: ServerResponse): void {
  if (isEventStream(response)) response.write(COMMENT);
  // RFC 9110 §15.2: none to a client of HTTP/1.0, which has to wait then.
  else if (!response.headersSent && response.req.httpVersion === '1.1') response.writeProcessing();
}
