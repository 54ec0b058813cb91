/** The base URL of links: as configured by the operator, or a host that an attacker cannot have chosen. */
import { isIP } from 'node:net';
import type { ApiSettings } from '../settings.ts';

/** Characters. */
export const MAX_HOST = 262;

/** Paths of ours, which begin with a slash, are appended. */
export function withoutSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}

/** @param host the request's Host header (RFC 9110 §7.2) @returns without trailing slash */
export function baseUrl(
  { publicUrl, allowedHosts }: Pick<ApiSettings, 'publicUrl' | 'allowedHosts'>,
  host: string | undefined,
  port: number,
): string {
  if (publicUrl !== undefined) return withoutSlashes(publicUrl);
  const fallback = `http://localhost:${port}`;
  // A Host is one authority and nothing else, and no longer than a name can be (RFC 1035 §2.3.4) with a port: with a user, a path or a query in it, the URL would say something else than it shows.
  if (host === undefined || host.length > MAX_HOST || !/^[A-Za-z0-9.:[\]-]+$/.test(host) || !URL.canParse(`http://${host}`))
    return fallback;
  const { hostname, origin } = new URL(`http://${host}`);
  const literal = hostname.replace(/^\[|\]$/g, '');
  const known = isIP(literal) !== 0 || hostname === 'localhost' || allowedHosts.some((allowed) => allowed.toLowerCase() === hostname);
  return known ? origin : fallback;
}
