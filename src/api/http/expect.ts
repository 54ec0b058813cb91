/** `Expect: 100-continue` (RFC 9110 §10.1.1): a client whose headers are refused learns it before it sends a body. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

const held = new WeakMap<IncomingMessage, ServerResponse>();

/** The server itself never asks for the body: the route that wants the body says so. Other expectations mean nothing to us. */
export function holdBackBodies(server: Server): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    held.set(request, response);
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => server.emit('request', request, response));
}

/** Asks for the body, where the client waits to be asked. */
export function askForBody(request: IncomingMessage): void {
  held.get(request)?.writeContinue();
  held.delete(request);
}
