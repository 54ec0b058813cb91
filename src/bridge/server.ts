/** The server that a command or an assistant works with: its address without credentials, and the headers that each request to it carries. */

export interface Server {
  /** Without credentials, and without a slash at its end: it may be shown. */
  readonly url: string;
  /** What proves who asks; never shown. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The message shows no credentials. */
export class InvalidServer extends Error {
  override readonly name = 'InvalidServer';
}

/** They belong to the connection or to a body, which are not the user's. */
const NOT_FOR_USERS = /^(?:connection|content-length|content-type|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;

/**
 * `http:host` and `https:/host` are URLs to a parser: a file's name may look like that.
 * @param address `http://` or `https://` in full; may have a user name and a password, and a path
 * @param credentials headers win over credentials in the address, and these over the token
 * @throws InvalidServer
 */
export function serverAt(
  address: string,
  credentials: { readonly headers?: readonly string[]; readonly token?: string | undefined } = {},
): Server {
  const url = /^https?:\/\/[^/?#\\\s]/i.test(address) && !/[\\\s\p{Cc}]/u.test(address) ? URL.parse(address) : null;
  if (url === null)
    throw new InvalidServer(`the server is "${masked(address)}"; expected a URL in full, such as https://files.example.org`);
  if (/[?#]/.test(address)) throw new InvalidServer(`the server is "${masked(address)}"; expected a URL without "?" and "#"`);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  const { token, headers = [] } = credentials;
  const own = new Map<string, string>();
  if (token !== undefined) own.set('authorization', `Bearer ${readToken(token)}`);
  if (username !== '' || password !== '')
    own.set('authorization', `Basic ${Buffer.from(`${unescaped(username)}:${unescaped(password)}`).toString('base64')}`);
  for (const header of headers) own.set(...readHeader(header));
  return { url: url.href.replace(/\/$/, ''), headers: Object.fromEntries(own) };
}

/** A request to it. Redirects are not followed: what proves who asks is for this server alone. */
export const askServer = (
  { url, headers }: Server,
  path: string,
  init: RequestInit & { headers?: Record<string, string> },
): Promise<Response> => fetch(`${url}${path}`, { ...init, headers: { ...headers, ...init.headers }, redirect: 'manual' });

/** Whatever stands before an at sign may be a password, and what follows a question mark a token. */
const masked = (address: string): string =>
  address
    .replace(/^.*@/s, '…@')
    .replace(/([?#]).*$/s, '$1…')
    .slice(0, 200);

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param header `Name: value` @returns the name in lower case @throws InvalidServer */
function readHeader(header: string): [string, string] {
  const colon = header.indexOf(':');
  const [name, value] = [header.slice(0, Math.max(0, colon)).trim(), header.slice(colon + 1).trim()];
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    throw new InvalidServer('a header is not valid; expected "Name: value", of ASCII characters, or @FILE for a file of them');
  if (NOT_FOR_USERS.test(name)) throw new InvalidServer(`the header ${name} is set by filemill itself`);
  return [name.toLowerCase(), value];
}

/** RFC 6750, 2.1, and whatever else a header can carry. @throws InvalidServer */
function readToken(token: string): string {
  const text = token.trim();
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new InvalidServer('the token is not valid; expected ASCII characters without blanks');
}
