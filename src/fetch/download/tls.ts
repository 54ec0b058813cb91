/** TLS on a connection, from end to end: the proxy that carries the connection cannot read it. */
import type { Socket } from 'node:net';
import { connect } from 'node:tls';
import { ready } from '../dial.ts';
import type { ConnectTarget } from '../url.ts';

/**
 * @param ca certificates in PEM that are trusted instead of Node's
 * @returns the connection with TLS on it; `signal` no longer touches it. Destroying it destroys `socket`
 * @throws Failure `URL_REFUSED`: unreachable · the reason of `signal`
 */
export async function secured(
  socket: Socket,
  target: ConnectTarget,
  ca: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  const tls = connect({
    socket,
    host: target.host,
    // An address is no server name (RFC 6066, 3): without one, the certificate is held to `host`.
    servername: target.literal ? '' : target.host,
    // NODE_TLS_REJECT_UNAUTHORIZED does not reach here.
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
    ...(ca === undefined ? {} : { ca: [...ca] }),
  });
  await ready(
    tls,
    'secureConnect',
    signal,
    'The service could not connect securely to the server in the URL: its certificate is not valid for this name, or it does not support TLS.',
  );
  return tls;
}
