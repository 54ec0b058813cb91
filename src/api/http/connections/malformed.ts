/** Answers malformed or oversized HTTP. There is no reply object: the envelope is written by hand. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Failure } from '../../../errors.ts';
import { CORS_HEADERS } from '../cors.ts';
import { problemOf } from '../problem.ts';

/** A connection that is closed with unread bytes is reset, and the reset may overtake the answer (RFC 9112 §9.6): for so long, and so many, they are read and thrown away. */
const LINGER_MS = 5_000;
const LINGER_BYTES = 8 * 1024 * 1024;

/** Further headers of a refusal, for the client of this connection: it must settle soon, and not reject. */
export type HeadersFor = (remote: string | undefined) => Promise<Readonly<Record<string, string>>>;

/** @returns fastify's `clientErrorHandler`; it is called again for every further chunk of a broken connection */
export const refuseMalformed = (headersFor: HeadersFor) => (error: Error & { code?: string }, socket: Socket) =>
  refuseConnection(headersFor, error, socket);

function refuseConnection(headersFor: HeadersFor, error: Error & { code?: string }, socket: Socket): void {
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
      ? [
          '431 Request Header Fields Too Large',
          new Failure('BAD_REQUEST', { says: 'The request has too many headers, or its headers are too long.' }),
        ]
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', new Failure('BODY_TIMEOUT')]
        : ['400 Bad Request', new Failure('BAD_REQUEST')];
  void refuse(socket, headersFor, status as string, failure as Failure);
}

/** Sees which answer is under way on each connection, and refuses tunnels: Node would close the connection without an answer. */
export function watchConnections(server: Server, headersFor: HeadersFor): void {
  server.on('request', (request: IncomingMessage, response: ServerResponse) => answers.set(request.socket, { current: response }));
  server.on(
    'connect',
    (_request: IncomingMessage, socket: Socket) =>
      void refuse(socket, headersFor, '405 Method Not Allowed', new Failure('METHOD_NOT_ALLOWED', { details: { allowed: [] } }), {
        allow: '',
      }),
  );
}

const answers = new WeakMap<Socket, { readonly current: ServerResponse }>();
/** How many bytes had come when the connection was refused. */
const refused = new WeakMap<Socket, number>();

async function refuse(
  socket: Socket,
  headersFor: HeadersFor,
  status: string,
  failure: Failure,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  refused.set(socket, socket.bytesRead);
  socket.on('error', () => socket.destroy());
  const limits = await headersFor(socket.remoteAddress);
  if (!socket.writable) return void socket.destroy();
  const id = randomUUID();
  const body = JSON.stringify(problemOf(failure, id));
  const head = [
    `HTTP/1.1 ${status}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${id}`,
    ...Object.entries({ ...CORS_HEADERS, ...limits, ...more }).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
