/** Decides which addresses may be connected to: those that the public Internet routes, with the operator's exceptions. */
import ipaddr from 'ipaddr.js';

export type AddressJudge = (address: string) => boolean;

/** In CIDR notation, as `isRange` takes it. */
export interface AddressRules {
  /** Allowed although they are not public. */
  readonly allow: readonly string[];
  /** Never allowed, whatever `allow` says. */
  readonly deny: readonly string[];
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [Address, number];

/** @returns a function that tells whether an address may be connected to; false for text that `canonical` does not accept */
export function addressJudge({ allow, deny }: AddressRules): AddressJudge {
  const allowed = allow.map(parseRange);
  const denied = deny.map(parseRange);
  return (text) => {
    const address = parse(text);
    if (address === undefined) return false;
    const behind = translated(address);
    if (denied.some((range) => within(address, range) || (behind !== undefined && within(behind, range)))) return false;
    return allowed.some((range) => within(address, range)) || isPublic(behind ?? address);
  };
}

/** The canonical text of an address. An IPv4-mapped one becomes the IPv4 address that a connection to it reaches. Undefined for other text. */
export const canonical = (text: string): string | undefined => parse(text)?.toString();

/** Whether the text is a valid range: an address and a prefix length, IPv4 in four decimal parts and never as mapped IPv6. */
export function isRange(text: string): boolean {
  if (ipaddr.IPv4.isValidCIDRFourPartDecimal(text)) return true;
  // A rule on mapped addresses would never match, since they are judged as IPv4.
  return !text.includes('%') && ipaddr.IPv6.isValidCIDR(text) && !ipaddr.IPv6.parseCIDR(text)[0].isIPv4MappedAddress();
}

/** The part of the IPv6 space that IANA has assigned (RFC 4291, 2.4). The rest is unassigned or has a special meaning, such as `::127.0.0.1`. */
const GLOBAL_UNICAST: Range = ipaddr.parseCIDR('2000::/3');
/** NAT64 (RFC 6052, 2.1): IPv6-only networks reach IPv4 through it. 64:ff9b:1::/48 (RFC 8215) is each network's own: refused unless allowed. */
const TRANSLATED: Range = ipaddr.parseCIDR('64:ff9b::/96');
/** Looks public and is not: Azure's hosts answer their own virtual machines there (Microsoft Learn, "What is IP address 168.63.129.16?"). */
const HOST_SERVICES: readonly Range[] = [ipaddr.parseCIDR('168.63.129.16/32')];

/**
 * The library's `range` follows the special-purpose registries of IANA (RFC 6890 and its updates). Blocks that the registries call globally
 * reachable, such as AS112's and AMT's, count as special here too: they hold infrastructure and no files. So do all of 6to4 and Teredo, which
 * are retired and would carry an IPv4 address past this check.
 */
function isPublic(address: Address): boolean {
  if (HOST_SERVICES.some((range) => within(address, range))) return false;
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || within(address, GLOBAL_UNICAST));
}

/** The IPv4 address that a NAT64 translator connects to for this IPv6 address. RFC 6052, 3.1 forbids addresses that are not public. */
function translated(address: Address): Address | undefined {
  return within(address, TRANSLATED) ? ipaddr.fromByteArray(address.toByteArray().slice(12)) : undefined;
}

/** Strict: the library would read `010.0.0.1` as octal, which other programs read as decimal. */
function parse(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  // A zone names one of our own interfaces (RFC 4007, 11).
  return text.includes(':') && !text.includes('%') && ipaddr.IPv6.isValid(text) ? ipaddr.process(text) : undefined;
}

function parseRange(text: string): Range {
  if (!isRange(text)) throw new RangeError(`${text} is not an address range`);
  return ipaddr.parseCIDR(text);
}

const within = (address: Address, [network, bits]: Range): boolean => address.kind() === network.kind() && address.match(network, bits);
