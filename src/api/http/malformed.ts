/** Answers malformed or oversized HTTP. There is no reply object: the envelope is written by hand. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Failure } from '../../errors.ts';
import { CORS_HEADERS } from './cors.ts';
import { problemOf } from './problem.ts';

/** A close with unread bytes is a reset, and may overtake the answer (RFC 9112 §9.6): so long, and so much, is read and thrown away. */
const LINGER_MS = 5_000;
const LINGER_BYTES = 8 * 1024 * 1024;

/** @returns fastify's `clientErrorHandler`; it is called again for every further chunk of a broken connection */
export function refuseMalformed(error: Error & { code?: string }, socket: Socket): void {
  const startedAt = refused.get(socket);
  if (startedAt !== undefined) {
    if (socket.bytesRead - startedAt > LINGER_BYTES) socket.destroy();
    return;
  }
  const { current } = answers.get(socket) ?? {};
  // In the middle of another answer, an error would look like a part of it.
  const interrupts = current?.headersSent === true && !current.writableEnded;
  if (interrupts || !socket.writable || error.code === 'ECONNRESET' || error.code === 'EPIPE') return void socket.destroy();
  const [status, failure] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', new Failure('BAD_REQUEST', { says: 'The request has more headers than are accepted.' })]
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', new Failure('BODY_TIMEOUT')]
        : ['400 Bad Request', new Failure('BAD_REQUEST')];
  refuse(socket, status as string, failure as Failure);
}

/** Sees which answer is under way on each connection, and refuses tunnels: Node would close the connection without an answer. */
export function watchConnections(server: Server): void {
  server.on('request', (request: IncomingMessage, response: ServerResponse) => answers.set(request.socket, { current: response }));
  server.on('connect', (_request: IncomingMessage, socket: Socket) =>
    refuse(socket, '405 Method Not Allowed', new Failure('METHOD_NOT_ALLOWED', { details: { allowed: [] } }), ['allow:']),
  );
}

const answers = new WeakMap<Socket, { readonly current: ServerResponse }>();
/** How many bytes had come when the connection was refused. */
const refused = new WeakMap<Socket, number>();

function refuse(socket: Socket, status: string, failure: Failure, more: readonly string[] = []): void {
  refused.set(socket, socket.bytesRead);
  const id = randomUUID();
  const body = JSON.stringify(problemOf(failure, id));
  const head = [
    `HTTP/1.1 ${status}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${id}`,
    ...Object.entries(CORS_HEADERS).map(([name, value]) => `${name}: ${value}`),
    ...more,
    'connection: close',
  ];
  socket.on('error', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
