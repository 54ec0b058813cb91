/** What requests must not name as a place: this service itself, which would take its own results and messages in a circle. */
import { hostname, networkInterfaces } from 'node:os';
import { urlRefused } from '../../../fetch/refusal.ts';
import { parseAddress, parseNetwork } from '../../../limits/clients/network.ts';
import type { ApiDeps } from '../../deps.ts';
import { namesOfMachine } from '../../http/base-url.ts';

/** Addresses that lead here on every machine; to connect to the unspecified ones connects to this machine. */
const LOCAL = ['127.0.0.0/8', '::1', '0.0.0.0', '::'].map(parseNetwork);

/** @param base of the links in the answer @throws Failure `URL_REFUSED`: address, for the public URL, or the service's port at a name or an address of this machine */
export function refuseOwn({ service: { settings } }: Pick<ApiDeps, 'service'>, sent: string, base: string | undefined): void {
  const url = URL.parse(sent);
  if (url === null) return;
  const own = [base, settings.publicUrl].flatMap((each) => URL.parse(each ?? '') ?? []);
  const ports = [settings.port, ...own.map(portOf)];
  const isHere = ports.includes(portOf(url)) && isThisMachine(nameOf(url), settings.allowedHosts);
  if (isHere || own.some((each) => nameOf(each) === nameOf(url) && portOf(each) === portOf(url))) throw urlRefused('address');
}

function isThisMachine(name: string, allowedHosts: readonly string[]): boolean {
  const address = parseAddress(name);
  if (address === undefined)
    return name.endsWith('.localhost') || [...allowedHosts, ...namesOfMachine(hostname())].some((own) => own.toLowerCase() === name);
  const interfaces = Object.values(networkInterfaces()).flatMap((each = []) => each.map((one) => parseAddress(one.address)?.text));
  return interfaces.includes(address.text) || LOCAL.some((network) => network.has(address));
}

/** Without the brackets of an address and the dot of the DNS root. */
const nameOf = ({ hostname: name }: URL): string => name.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');

const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80));
