/** Resolves a name to the addresses that may be connected to. */
import { Resolver } from 'node:dns/promises';
import { onAbort } from '../streams/abort.ts';
import { within } from '../streams/deadline.ts';
import { type AddressJudge, canonical } from './address.ts';
import { urlRefused } from './refusal.ts';
import type { ConnectTarget } from './url.ts';

/** @returns all addresses of a name, of both families @throws if there are none */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

/** One try; there are two for each name server (Resolver's `timeout` and `tries`), ms. */
const TRY_MS = 2_000;

/**
 * Queries the name servers of /etc/resolv.conf for A and AAAA. Not getaddrinfo: it blocks a thread for as long as a name server takes, and four
 * such names would stop all file operations of this process; it also tries a cluster's search domains. So /etc/hosts is ignored.
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
 * A single address that is not public refuses the whole name: honest names have none, and a mixed answer could otherwise choose which address is
 * tried, by its order or by refusing connections.
 * @throws Failure `URL_REFUSED`: dns, address
 */
export async function publicAddresses(
  target: ConnectTarget,
  resolve: Resolve,
  judge: AddressJudge,
  limitMs: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found = target.literal ? [target.host] : await resolveWithin(target.host, resolve, limitMs, signal);
  const addresses = found.map((address) => (judge(address) ? canonical(address) : undefined));
  if (addresses.length === 0) throw urlRefused('dns');
  if (addresses.includes(undefined)) throw urlRefused('address', { cause: new Error(`${target.host} is ${found.join(', ')}`) });
  return addresses.filter((address) => address !== undefined);
}

async function resolveWithin(name: string, resolve: Resolve, limitMs: number, signal: AbortSignal): Promise<readonly string[]> {
  const late = () => urlRefused('dns', { says: 'The name in the URL was not resolved in time.' });
  try {
    return await within(limitMs, signal, late, (limited) => resolve(name, limited));
  } catch (cause) {
    signal.throwIfAborted();
    throw urlRefused('dns', { cause });
  }
}
