/** What requests must not name as a place: this service itself, which would take its own results and messages in a circle. */
import { networkInterfaces } from 'node:os';
import { urlRefused } from '../../../fetch/refusal.ts';
import { parseAddress, parseNetwork } from '../../../limits/clients/network.ts';
import type { ApiDeps } from '../../deps.ts';
import { isNameOfMachine } from '../../http/base-url.ts';

/** Addresses that lead here on every machine; to connect to the unspecified ones connects to this machine. */
const LOCAL = ['127.0.0.0/8', '::1', '0.0.0.0', '::'].map(parseNetwork);

/** Ports of a proxy in front, which may serve others too. */
const SHARED = [80, 443];

/**
 * @param base of the links in the answer
 * @throws Failure `URL_REFUSED`: address, for the public URL, a name of the service at a port of it or of a proxy, or the service's own port at a
 * name or an address of this machine
 */
export function refuseOwn({ service: { settings } }: Pick<ApiDeps, 'service'>, sent: string, base: string | undefined): void {
  const url = URL.parse(sent);
  if (url === null) return;
  const [name, port] = [nameOf(url), portOf(url)];
  const [asked, open] = [urlsIn(base), urlsIn(settings.publicUrl)];
  const ports = [settings.port, ...[...asked, ...open].map(portOf)];
  const names = [...open.map(nameOf), ...settings.allowedHosts.map((host) => host.toLowerCase())];
  const isAsked = asked.some((each) => nameOf(each) === name && portOf(each) === port);
  const isNamed = names.includes(name) && [...ports, ...SHARED].includes(port);
  const isHere = isThisMachine(name) && ports.includes(port) && !SHARED.includes(port);
  if (isAsked || isNamed || isHere) throw urlRefused('address');
}

function isThisMachine(name: string): boolean {
  const address = parseAddress(name);
  if (address === undefined) return isNameOfMachine(name);
  const interfaces = Object.values(networkInterfaces()).flatMap((each = []) => each.map((one) => parseAddress(one.address)?.text));
  return interfaces.includes(address.text) || LOCAL.some((network) => network.has(address));
}

/** @returns one or none */
const urlsIn = (text = ''): readonly URL[] => [URL.parse(text)].filter((url) => url !== null);

/** Without the brackets of an address and the dot of the DNS root. */
const nameOf = ({ hostname: name }: URL): string => name.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');

const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80));
