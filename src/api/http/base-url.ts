/** The base URL of links: as configured by the operator, or as the client reached this service, by a host that an attacker cannot have chosen. */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { type Network, parseAddress, parseNetwork } from '../../limits/clients/network.ts';
import { isWithin } from '../../paths.ts';
import type { ApiSettings } from '../settings.ts';

/** Characters. */
export const MAX_HOST = 262;
/** Characters. */
const MAX_PREFIX = 200;

/** Paths of ours, which begin with a slash, are appended. */
export function withoutSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}

type BaseSettings = Pick<ApiSettings, 'publicUrl' | 'allowedHosts' | 'trustProxy'>;
type Asked = Pick<IncomingMessage, 'headers'> & { readonly socket: Pick<IncomingMessage['socket'], 'remoteAddress' | 'localPort'> };

/** @param asked undefined where a link answers no request @param port of the listener @returns without trailing slash */
export function baseUrl(settings: BaseSettings, asked: Asked | undefined, port: number): string {
  if (settings.publicUrl !== undefined) return withoutSlashes(settings.publicUrl);
  const fallback = `http://localhost:${asked?.socket.localPort ?? port}`;
  if (asked === undefined) return fallback;
  const { scheme, host } = isFromProxy(settings, asked)
    ? { scheme: forwarded(asked, 'proto') ?? 'http', host: forwarded(asked, 'host') ?? asked.headers.host }
    : { scheme: 'http', host: asked.headers.host };
  return isOwnHost(host, settings.allowedHosts) && /^https?$/.test(scheme)
    ? new URL(`${scheme}://${host}`).origin + prefixOf(settings, asked)
    : fallback;
}

/**
 * Whether links may name this host, and web pages reach `/mcp` by it: an IP address, which cannot be pointed elsewhere, localhost, a name of
 * this machine, or one that the operator has allowed.
 * @param host a Host header (RFC 9110 §7.2): one authority and nothing else. With a user, a path or a query in it, the URL would say something else than it shows.
 */
export function isOwnHost(host: string | undefined, allowed: readonly string[]): boolean {
  // No longer than a name can be (RFC 1035 §2.3.4), with a port.
  if (host === undefined || host.length > MAX_HOST || !/^[A-Za-z0-9._:[\]-]+$/.test(host) || !URL.canParse(`http://${host}`)) return false;
  const name = new URL(`http://${host}`).hostname;
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0) return true;
  return allowed.some((own) => own.toLowerCase() === name) || isNameOfMachine(name);
}

/** @param name in lower case */
export const isNameOfMachine = (name: string): boolean =>
  name.endsWith('.localhost') || namesOfMachine(hostname()).some((own) => own.toLowerCase() === name);

/** Names by which others reach this machine: its own, in full and in short, and the one by multicast DNS (RFC 6762). */
export function namesOfMachine(full: string): readonly string[] {
  const [short = ''] = full.split('.');
  return ['localhost', ...(short === '' ? [] : [full, short, `${short}.local`])];
}

/**
 * The path that a proxy serves this service below, in front of every path of ours: that of the public URL, or `X-Forwarded-Prefix`.
 * @returns empty, or with a leading slash and no trailing one
 */
export function prefixOf(settings: BaseSettings, asked: Asked): string {
  if (settings.publicUrl !== undefined) return withoutSlashes(new URL(settings.publicUrl).pathname);
  if (asked.headers['x-forwarded-prefix'] === undefined || !isFromProxy(settings, asked)) return '';
  const prefix = withoutSlashes(forwarded(asked, 'prefix') ?? '');
  // Nothing that could end an attribute, or name another host or folder.
  return prefix.length <= MAX_PREFIX && /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/.test(prefix) ? prefix : '';
}

/** @param isOurs whether a path is one of ours as it is: a proxy may strip the prefix or leave it @returns the address below the prefix */
export function withoutPrefix(url: string, prefix: string, isOurs: (url: string) => boolean): string {
  if (prefix === '' || !isWithin(prefix, url.split('?', 1)[0] ?? '')) return url;
  const rest = url.slice(prefix.length);
  if (rest !== '' && !/^[/?]/.test(rest)) return url;
  return isOurs(url) ? url : rest.startsWith('/') ? rest : `/${rest}`;
}

/** If there are several proxies, the first value is what the client saw. */
function forwarded({ headers }: Asked, what: 'proto' | 'host' | 'prefix'): string | undefined {
  const sent = [headers[`x-forwarded-${what}`] ?? []].flat()[0]?.slice(0, 1_000);
  const [first = ''] = (sent ?? '').split(',', 1);
  return (what === 'prefix' ? first.trim() : first.trim().toLowerCase()) || undefined;
}

const parsed = new WeakMap<BaseSettings['trustProxy'], readonly Network[]>();

function isFromProxy({ trustProxy }: BaseSettings, { socket }: Asked): boolean {
  if (trustProxy.length === 0) return false;
  const networks = parsed.get(trustProxy) ?? trustProxy.map(parseNetwork);
  parsed.set(trustProxy, networks);
  const peer = parseAddress(socket.remoteAddress ?? '');
  return peer !== undefined && networks.some((network) => network.has(peer));
}
