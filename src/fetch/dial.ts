/** Connects to one of the checked addresses and to no other. */
import { once } from 'node:events';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { canonical } from './address.ts';
import { urlRefused } from './refusal.ts';
import type { ConnectTarget } from './url.ts';

/** How long to wait for one of several addresses before trying the next in parallel (RFC 8305, 5, recommends less), ms. */
const NEXT_ADDRESS_MS = 1_000;

/**
 * @param addresses checked, in canonical form
 * @returns a connection on which no byte was sent yet; `signal` no longer affects it
 * @throws Failure `URL_REFUSED`: unreachable; address where the system connected elsewhere · the reason of `signal`
 */
export async function dial(target: ConnectTarget, addresses: readonly string[], signal: AbortSignal): Promise<Socket> {
  const socket = connect({
    host: target.host,
    port: target.port,
    // Replaces Node's own lookup, which is skipped anyway if `host` is an address.
    lookup: pinned(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
  });
  await ready(socket, 'connect', signal, 'The server in the URL refuses connections.');

  // Check the actual peer: the system takes 0.0.0.0 for this machine, and a packet filter may redirect the connection.
  const reached = canonical(socket.remoteAddress ?? '');
  if (reached === undefined || !addresses.includes(reached)) {
    socket.destroy();
    throw urlRefused('address', { cause: new Error(`connected to ${socket.remoteAddress} instead of ${addresses.join(', ')}`) });
  }
  return socket;
}

function pinned(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_name, { all }, done) => {
    const [first = { address: '', family: 0 }] = answers;
    if (all) done(null, answers);
    else done(null, first.address, first.family);
  };
}

/** Waits until the socket is usable; destroys it on failure. @throws Failure `URL_REFUSED`: unreachable, with the message `says` · the reason of `signal` */
export async function ready(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal, says: string): Promise<void> {
  // `once` reports errors while it waits. A later one without a listener would end the process.
  socket.on('error', () => undefined);
  try {
    await once(socket, event, { signal });
  } catch (cause) {
    socket.destroy();
    signal.throwIfAborted();
    // A certificate that is not valid stays so; a reset may pass.
    const { code } = cause as { readonly code?: unknown };
    const retryable = event === 'connect' || ['ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(String(code));
    throw urlRefused('unreachable', { says, retryable, cause });
  }
}
