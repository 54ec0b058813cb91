/** Identifies the client of a request by its address, as reported by trusted proxies. Only a keyed hash of it is stored. */
import { createHmac } from 'node:crypto';
import { type Address, clientNetwork, parseAddress, parseNetwork } from './network.ts';

export interface Client {
  /** The stored key: 32 hex digits, the same in every replica and after every restart. */
  readonly key: string;
  /** In clear, shown to the client only: an IPv4 address, or an IPv6 /64. */
  readonly network: string;
  /** Factor for every limit: above 1 behind an address that many clients share. */
  readonly multiple: number;
  readonly bannable: boolean;
  /** No limit holds for it. */
  readonly isUnlimited?: boolean;
}

interface ClientRules {
  /** Addresses and CIDRs of proxies whose `X-Forwarded-For` is believed. */
  readonly trustProxy: readonly string[];
  readonly sharedEgress: readonly { readonly cidr: string; readonly multiple: number }[];
  /** Addresses and CIDRs without limits, unless the request came through a proxy that is not trusted. */
  readonly unlimited?: readonly string[];
  /** A lasting secret: changing it resets the limits of every client. */
  readonly salt: string;
}

/** @param remote the other end of the connection @param forwardedFor the header's value, or its lines */
export type Identify = (remote: string | undefined, forwardedFor: string | readonly string[] | undefined) => Client;

/** @throws RangeError when a network cannot be read */
export function identifyWith({ trustProxy, sharedEgress, unlimited = [], salt }: ClientRules): Identify {
  const proxies = trustProxy.map(parseNetwork);
  const shared = sharedEgress.map(({ cidr, multiple }) => ({ network: parseNetwork(cidr), multiple }));
  const free = unlimited.map(parseNetwork);
  const isProxy = (address: Address) => proxies.some((proxy) => proxy.has(address));
  return (remote, forwardedFor) => {
    const peer = remote === undefined ? undefined : parseAddress(remote);
    // A peer without an address, as on a Unix socket, is one client like any other.
    const address = peer === undefined ? undefined : nearestStranger(peer, forwardedFor, isProxy);
    const network = address === undefined ? 'unknown' : clientNetwork(address);
    const multiples = shared.filter((egress) => address !== undefined && egress.network.has(address)).map(({ multiple }) => multiple);
    const speaksForOthers = forwardedFor !== undefined && peer !== undefined && !isProxy(peer);
    const isUnlimited = address !== undefined && !speaksForOthers && free.some((each) => each.has(address));
    return { key: keyOf(network, salt), network, multiple: Math.max(1, ...multiples), bannable: multiples.length === 0, isUnlimited };
  };
}

/**
 * The first address that is not a trusted proxy, from the connection backwards through `X-Forwarded-For`: the client may have invented the
 * entries left of it. At an entry that is no address, the proxy that wrote it is the client.
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

/** Trusted proxies in a row: a client invented any more of them. */
const MOST_HOPS = 64;

/** Half of a SHA-256: collisions stay infeasible, and keys short. */
const KEY_DIGITS = 32;

const keyOf = (network: string, salt: string): string =>
  createHmac('sha256', salt).update('filemill client\0').update(network).digest('hex').slice(0, KEY_DIGITS);
