/** The port of a role: one that is in use gives a sentence, not a stack trace. */
import type { createServer } from '../../api/server.ts';
import type { Config } from '../../config.ts';
import { CannotStart, errorCode } from './cannot-start.ts';

/** @returns the actual port @throws CannotStart */
export async function listen(server: ReturnType<typeof createServer>, { port, host }: Config['api']): Promise<number> {
  await server.listen({ port, host, listenTextResolver: (address) => `listening at ${address}` }).catch((cause: unknown) => {
    if (errorCode(cause) === 'EADDRINUSE') throw new CannotStart(`port ${port} is in use: stop what listens there, or set PORT`, { cause });
    throw new CannotStart(`cannot listen on ${host}, port ${port} (${errorCode(cause)}): set PORT, or api.host`, { cause });
  });
  const address = server.server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}
