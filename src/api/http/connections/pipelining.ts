/** One request of a connection at a time (RFC 9112 §9.3.2): the parser gets the next one's bytes when the answer before it is out. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionTurns } from './turns.ts';

/** What ends a head (RFC 9112 §2.1), and a chunked body (§7.1). */
const BLANK_LINE = Buffer.from('\r\n\r\n');

/** How much of a chunked body is parsed at a time: the parser calls back for each chunk, thousands of which fit into one read. */
const CHUNKED_BYTES = 16 * 1024;

interface Connection {
  /** A request was parsed, in part at least. */
  begin(request: IncomingMessage, response: ServerResponse): void;
  /** It no longer carries HTTP. */
  leave(): void;
}

/**
 * Node parses all that one read of a socket brought, and calls back for each request in it, 64 KiB of them in one turn of the event loop.
 * Here its parser gets a piece at a time, none of which reaches beyond the end of a request, and no further one while a request is being
 * answered. What waits is given back to the socket, which then reads no more than its buffer takes: the rest stays with the sender.
 * @param clientOf who is at the other end, as far as a connection shows
 */
export function servePipelined(server: Server, turns: ConnectionTurns, clientOf: (remote: string | undefined) => string): void {
  const connections = new WeakMap<Socket, Connection>();
  server.on('connection', (socket: Socket) => connections.set(socket, feedInPieces(socket, turns, clientOf(socket.remoteAddress))));
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) =>
    connections.get(request.socket)?.begin(request, response),
  );
  server.prependListener('connect', (_request: IncomingMessage, socket: Socket) => connections.get(socket)?.leave());
}

function feedInPieces(socket: Socket, turns: ConnectionTurns, client: string): Connection {
  // The server's own listener: until another one comes Node reads past it, straight into the parser.
  const [parse] = socket.listeners('data') as ((piece: Buffer) => void)[];
  if (parse === undefined) throw new Error('the HTTP server does not listen to its connection');
  socket.off('data', parse);
  const cut = pieces();
  let request: IncomingMessage | undefined;
  let answering = 0;
  /** Bytes came that may not be parsed yet. */
  let holds = false;
  let waits = false;
  /** It is this connection's turn: a piece of it is parsed, even if other connections wait. */
  let called = false;
  let left = false;

  const hold = (rest: Buffer) => {
    holds = true;
    socket.pause();
    socket.unshift(rest);
  };
  const wait = () => {
    if (waits) return;
    waits = true;
    turns.wait(client, () => {
      [waits, called] = [false, true];
      socket.resume();
    });
  };
  const isBusy = () => answering > 0 && request?.complete === true;

  socket.on('data', (chunk: Buffer) => {
    holds = false;
    let rest = chunk;
    while (rest.length > 0 && !left && !socket.destroyed) {
      if (isBusy() || waits) return hold(rest);
      const mayGoOn = called || turns.isFree();
      called = false;
      if (!mayGoOn) {
        hold(rest);
        return wait();
      }
      const end = cut(rest, request);
      const piece = rest.subarray(0, end);
      rest = rest.subarray(end);
      parse(piece);
      // The reader of the body has enough for now, and resumes.
      if (rest.length > 0 && socket.isPaused()) return hold(rest);
    }
  });

  return {
    begin(begun, response) {
      request = begun;
      answering++;
      response.once('close', () => {
        answering--;
        if (holds && !socket.destroyed) wait();
      });
    },
    leave() {
      left = true;
    },
  };
}

type Cut = (bytes: Buffer, request: IncomingMessage | undefined) => number;

/**
 * Where the next piece ends. Only the parser knows what the bytes mean: this says where no second request can have begun.
 * @returns a function to be called with all bytes in order, and the request that they belong to, unless it is complete
 */
function pieces(): Cut {
  /** The last bytes of the piece before: a blank line may begin there. */
  let before: Buffer = Buffer.alloc(0);
  let current: IncomingMessage | undefined;
  let remaining = 0;
  const endOf = (bytes: Buffer, request: IncomingMessage | undefined): number => {
    if (request !== undefined && !request.complete && request.headers['transfer-encoding'] === undefined) {
      if (current !== request) [current, remaining] = [request, Number(request.headers['content-length'] ?? 0)];
      const end = Math.min(remaining, bytes.length);
      remaining -= end;
      if (end > 0) return end;
    }
    const across = Buffer.concat([before, bytes.subarray(0, BLANK_LINE.length - 1)]).indexOf(BLANK_LINE);
    if (across >= 0) return across + BLANK_LINE.length - before.length;
    const most = request?.complete === false ? Math.min(CHUNKED_BYTES, bytes.length) : bytes.length;
    const blank = bytes.subarray(0, most).indexOf(BLANK_LINE);
    return blank < 0 ? most : blank + BLANK_LINE.length;
  };
  return (bytes, request) => {
    const end = endOf(bytes, request);
    before =
      end >= BLANK_LINE.length - 1
        ? bytes.subarray(end - BLANK_LINE.length + 1, end)
        : Buffer.concat([before, bytes.subarray(0, end)]).subarray(-3);
    return end;
  };
}
