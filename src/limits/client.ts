/** Who sends a request, as far as limits can know: an address that the trusted proxies vouch for, kept only as a keyed hash. */
import { createHmac } from 'node:crypto';
import { type Address, clientNetwork, parseAddress, parseNetwork } from './network.ts';

export interface Client {
  /** What is stored: 32 hex digits, the same in every replica and after every restart. */
  readonly key: string;
  /** In clear, for the client's own eyes: an IPv4 address, or an IPv6 /64. */
  readonly network: string;
  /** Of every limit: above 1 behind an egress that many share. */
  readonly multiple: number;
  readonly bannable: boolean;
}

interface Known {
  /** Addresses and CIDRs of proxies whose `X-Forwarded-For` is believed. */
  readonly trustProxy: readonly string[];
  readonly sharedEgress: readonly { readonly cidr: string; readonly multiple: number }[];
  /** A secret that lasts: with another one every client begins anew. */
  readonly salt: string;
}

/** @param remote the other end of the connection @param forwardedFor the header's value, or its lines */
export type Identify = (remote: string | undefined, forwardedFor: string | readonly string[] | undefined) => Client;

/** @throws RangeError when a network cannot be read */
export function identifyWith({ trustProxy, sharedEgress, salt }: Known): Identify {
  const proxies = trustProxy.map(parseNetwork);
  const shared = sharedEgress.map(({ cidr, multiple }) => ({ network: parseNetwork(cidr), multiple }));
  const isProxy = (address: Address) => proxies.some((proxy) => proxy.has(address));
  return (remote, forwardedFor) => {
    const peer = remote === undefined ? undefined : parseAddress(remote);
    // A peer without an address, as on a Unix socket, is one client like any other.
    const address = peer === undefined ? undefined : nearestStranger(peer, forwardedFor, isProxy);
    const network = address === undefined ? 'unknown' : clientNetwork(address);
    const multiples = shared.filter((egress) => address !== undefined && egress.network.has(address)).map(({ multiple }) => multiple);
    return { key: keyOf(network, salt), network, multiple: Math.max(1, ...multiples), bannable: multiples.length === 0 };
  };
}

/**
 * From the connection backwards through `X-Forwarded-For`, the first address that is no proxy of ours: what stands left of it, the client
 * may have made up. An entry that is no address ends the walk at the proxy that wrote it.
 */
function nearestStranger(peer: Address, forwardedFor: string | readonly string[] | undefined, isProxy: (it: Address) => boolean): Address {
  const entries = [forwardedFor ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  let nearest = peer;
  for (let hops = 0; hops < MOST_HOPS && isProxy(nearest); hops++) {
    const entry = entries.pop();
    if (entry === undefined) break;
    const next = parseAddress(entry);
    if (next === undefined) break;
    nearest = next;
  }
  return nearest;
}

/** Proxies of ours in a row: more addresses of them are what a client made up. */
const MOST_HOPS = 64;

/** Half of a SHA-256: nobody can make two networks meet, and a record's key stays short. */
const KEY_DIGITS = 32;

const keyOf = (network: string, salt: string): string =>
  createHmac('sha256', salt).update('filemill client\0').update(network).digest('hex').slice(0, KEY_DIGITS);
