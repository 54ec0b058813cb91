/** From a name to the addresses that a connection may use. */
import { Resolver } from 'node:dns/promises';
import { onAbort } from '../streams/abort.ts';
import { type AddressJudge, canonical } from './address.ts';
import { within } from './deadline.ts';
import { refused } from './refusal.ts';
import type { Target } from './url.ts';

/** @returns all addresses of a name, of both families @throws where there are none */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

/** One try; there are two for each name server (Resolver's `timeout` and `tries`), ms. */
const TRY_MS = 2_000;

/**
 * Asks the name servers of /etc/resolv.conf, A and AAAA. Not getaddrinfo: it holds a thread for as long as a name server likes to wait, and four
 * such names would stop all work on files in this process; it also tries a cluster's search domains. So /etc/hosts does not count.
 * @param servers asked instead, as `address:port`
 */
export function nameServers(servers?: readonly string[]): Resolve {
  return async (name, signal) => {
    const resolver = new Resolver({ timeout: TRY_MS, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    const unsubscribe = onAbort(signal, () => resolver.cancel());
    try {
      const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      if (addresses.length > 0) return addresses;
      throw new AggregateError(
        answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : [])),
        'no address',
      );
    } finally {
      unsubscribe();
    }
  };
}

/**
 * One address that is not public refuses the name as a whole: an honest name has none, and using the others would let a mixed answer choose, by
 * the order or by refusing connections, which of them is tried.
 * @throws Failure `URL_REFUSED`: dns, address
 */
export async function publicAddresses(
  target: Target,
  resolve: Resolve,
  judge: AddressJudge,
  limitMs: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found = target.literal ? [target.host] : await resolveWithin(target.host, resolve, limitMs, signal);
  const addresses = found.map((address) => (judge(address) ? canonical(address) : undefined));
  if (addresses.length === 0) throw refused('dns');
  if (addresses.includes(undefined)) throw refused('address', { cause: new Error(`${target.host} is ${found.join(', ')}`) });
  return addresses.filter((address) => address !== undefined);
}

async function resolveWithin(name: string, resolve: Resolve, limitMs: number, signal: AbortSignal): Promise<readonly string[]> {
  const late = () => refused('dns', { says: 'The name in the URL was not resolved in time.' });
  try {
    return await within(limitMs, signal, late, (limited) => resolve(name, limited));
  } catch (cause) {
    signal.throwIfAborted();
    throw refused('dns', { cause });
  }
}
