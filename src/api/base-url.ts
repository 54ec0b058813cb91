/** The address that links begin with: the operator's word, or a host that cannot have been made up by an attacker. */
import { isIP } from 'node:net';
import type { ApiSettings } from './settings.ts';

/** @param host the request's Host header (RFC 9110 §7.2) @returns without trailing slash */
export function baseUrl(
  { publicUrl, allowedHosts }: Pick<ApiSettings, 'publicUrl' | 'allowedHosts'>,
  host: string | undefined,
  port: number,
): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  const fallback = `http://localhost:${port}`;
  // A Host is one authority and nothing else: with a user, a path or a query in it, the URL would say something else than it shows.
  if (host === undefined || !/^[A-Za-z0-9.:[\]-]+$/.test(host) || !URL.canParse(`http://${host}`)) return fallback;
  const { hostname, origin } = new URL(`http://${host}`);
  const literal = hostname.replace(/^\[|\]$/g, '');
  const known = isIP(literal) !== 0 || hostname === 'localhost' || allowedHosts.some((allowed) => allowed.toLowerCase() === hostname);
  return known ? origin : fallback;
}
