/** Parses IP addresses and CIDRs for the limits. An IPv4-mapped IPv6 address counts as the IPv4 address. */
import { BlockList, isIPv4, isIPv6 } from 'node:net';

export interface Address {
  readonly family: 'ipv4' | 'ipv6';
  /** IPv4 with dots, or IPv6 as RFC 5952 writes it. */
  readonly text: string;
}

export interface Network {
  has(address: Address): boolean;
}

/** Including a zone and a port, characters: longer text is not parsed. */
const LONGEST_ADDRESS = 100;

/** @param text as a socket or a proxy names it: `192.0.2.7`, `2001:db8::1`, `fe80::1%eth0`, and with a port `192.0.2.7:80`, `[::1]:80` */
export function parseAddress(text: string): Address | undefined {
  if (text.length > LONGEST_ADDRESS) return undefined;
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  // The zone names one of our own interfaces: it does not identify the client.
  const [unzoned = ''] = bare.split('%', 1);
  if (isIPv4(unzoned)) return { family: 'ipv4', text: unzoned };
  if (!isIPv6(unzoned)) return undefined;
  const groups = groupsOf(unzoned);
  const mapped = MAPPED.every((group, at) => groups[at] === group);
  return mapped ? { family: 'ipv4', text: dotted(groups.slice(6)) } : { family: 'ipv6', text: written(unzoned) };
}

/** The network that counts as one client: an IPv4 address, or the /64 from which an IPv6 subscriber can choose addresses (RFC 6177). */
export function clientNetwork({ family, text }: Address): string {
  if (family === 'ipv4') return text;
  const prefix = groupsOf(text).slice(0, 4);
  return `${written(`${prefix.map((group) => group.toString(16)).join(':')}::`)}/64`;
}

/** @throws RangeError for what is neither an address nor a CIDR */
export function parseNetwork(text: string): Network {
  const network = read(text);
  if (network === undefined) throw new RangeError(`${text} is neither an IP address nor a CIDR`);
  return network;
}

export const isNetwork = (text: string): boolean => read(text) !== undefined;

/** Whether all of a client can be in it: one of IPv6 is a /64. True of text that is no network. */
export function holdsClients(text: string): boolean {
  const network = read(text);
  return network === undefined || network.family === 'ipv4' || network.bits <= CLIENT_BITS;
}

const BITS = { ipv4: 32, ipv6: 128 } as const;

/** Prefix length of an IPv6 subscriber's network. */
const CLIENT_BITS = 64;

/** `::ffff:0:0/96`, under which IPv6 holds all of IPv4 (RFC 4291, 2.5.5.2). */
const MAPPED = [0, 0, 0, 0, 0, 0xffff];
const MAPPED_BITS = 96;

function read(text: string): (Network & { readonly family: Address['family']; readonly bits: number }) | undefined {
  if (text.length > LONGEST_ADDRESS) return undefined;
  const [, base = '', length] = /^([\d.]+|[\da-f:.]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const address = parseAddress(base);
  if (address === undefined) return undefined;
  // A mapped network has an IPv6 prefix length.
  const bits = length === undefined ? BITS[address.family] : Number(length) - (isIPv6(base) && address.family === 'ipv4' ? MAPPED_BITS : 0);
  if (bits < 0 || bits > BITS[address.family]) return undefined;
  const list = new BlockList();
  list.addSubnet(address.text, bits, address.family);
  const { family } = address;
  return { family, bits, has: (other) => other.family === family && list.check(other.text, other.family) };
}

/** The eight groups of an IPv6 address. */
function groupsOf(text: string): number[] {
  const [head = '', tail = ''] = written(text).split('::');
  const [first, last] = [head, tail].map((part) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))));
  const zeros = Array<number>(8 - (first?.length ?? 0) - (last?.length ?? 0)).fill(0);
  return [...(first ?? []), ...zeros, ...(last ?? [])];
}

/** The canonical text of an IPv6 address: the URL standard writes it as RFC 5952 does, without dots. */
const written = (text: string): string => new URL(`http://[${text}]`).hostname.slice(1, -1);

const dotted = (groups: readonly number[]): string => groups.flatMap((group) => [group >> 8, group & 0xff]).join('.');
