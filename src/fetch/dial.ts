/** Connects to one of the judged addresses and to nothing else. */
import { once } from 'node:events';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { canonical } from './address.ts';
import { refused } from './refusal.ts';
import type { Target } from './url.ts';

/** How long one of several addresses is waited for before the next is tried beside it (RFC 8305, 5, counts on shorter ways), ms. */
const NEXT_ADDRESS_MS = 1_000;

/**
 * @param addresses judged, in canonical form
 * @returns a connection on which no byte of HTTP was sent yet; `signal` no longer touches it
 * @throws Failure `URL_REFUSED`: unreachable; address where the system connected elsewhere · the reason of `signal`
 */
export async function dial(target: Target, addresses: readonly string[], signal: AbortSignal): Promise<Socket> {
  const socket = connect({
    host: target.host,
    port: target.port,
    // The only answer that Node's own resolving gets: for an address in `host` it asks nobody.
    lookup: pinned(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
  });
  await ready(socket, 'connect', signal, 'The server in the URL accepts no connection.');

  // What counts is where we are: the system takes 0.0.0.0 for this machine, and a packet filter may lead elsewhere.
  const reached = canonical(socket.remoteAddress ?? '');
  if (reached === undefined || !addresses.includes(reached)) {
    socket.destroy();
    throw refused('address', { cause: new Error(`connected to ${socket.remoteAddress} instead of ${addresses.join(', ')}`) });
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

/** Waits for it to be of use. @throws Failure `URL_REFUSED`: unreachable, in the words given · the reason of `signal`; it is destroyed then */
export async function ready(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal, says: string): Promise<void> {
  // Whoever waits hears of errors; one that comes while nobody waits must not end the process.
  socket.on('error', () => undefined);
  try {
    await once(socket, event, { signal });
  } catch (cause) {
    socket.destroy();
    signal.throwIfAborted();
    throw refused('unreachable', { says, cause });
  }
}
