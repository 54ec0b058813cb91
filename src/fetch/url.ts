/** Decides which URLs may be fetched, on the result of the WHATWG parser. The connection uses the same parsed result. */
import { canonical } from './address.ts';
import { urlRefused } from './refusal.ts';

export interface UrlRules {
  /** Whether unencrypted HTTP is allowed too. */
  readonly http: boolean;
  readonly ports: readonly number[];
}

/** What to connect to. */
export interface ConnectTarget {
  readonly url: URL;
  readonly secure: boolean;
  /** ASCII name without a last dot, or an address in canonical form, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Whether `host` is an address, which needs no resolver. */
  readonly literal: boolean;
}

export type JudgeUrl = (text: string, rules: UrlRules, base?: URL) => ConnectTarget;

/** Browsers and servers take about this much (RFC 9110, 4.1 asks for at least 8000). */
const MAX_CHARACTERS = 8192;

/**
 * The parser normalises octal, hexadecimal, short and full-width IPv4 addresses, and names in Unicode.
 * @param base URL that a redirect's relative reference is resolved against
 * @throws Failure `URL_REFUSED`: scheme, credentials, port, or address for a host that can be none
 */
export function judgeUrl(text: string, { http, ports }: UrlRules, base?: URL): ConnectTarget {
  const allowedSchemes = http ? ['https:', 'http:'] : ['https:'];
  const badScheme = () =>
    urlRefused('scheme', { says: `The URL must begin with ${allowedSchemes.map((scheme) => `"${scheme}//"`).join(' or ')}.` });
  if (text.length > MAX_CHARACTERS) throw urlRefused('address', { says: `The URL is longer than ${MAX_CHARACTERS} characters.` });
  const url = URL.parse(text, base);
  if (url === null)
    throw /^\s*https?:/i.test(text) || base !== undefined ? urlRefused('address', { says: 'The URL is malformed.' }) : badScheme();
  if (!allowedSchemes.includes(url.protocol)) throw badScheme();
  if (url.username !== '' || url.password !== '') throw urlRefused('credentials');

  const secure = url.protocol === 'https:';
  const port = Number(url.port || (secure ? 443 : 80));
  if (!ports.includes(port))
    throw urlRefused('port', { says: `Files are fetched from port ${ports.join(' or ')} only.`, details: { port, ports } });

  // The trailing dot of the DNS root makes no difference to us, and certificates lack it.
  url.hostname = url.hostname.replace(/\.$/, '');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (host.split('.').includes('')) throw urlRefused('address', { says: 'The URL has a malformed host name.' });
  const address = canonical(host);
  return { url, secure, host: address ?? host, port, literal: address !== undefined };
}
