/** What a server says no with, and what stands in front of it: a proxy that wants credentials, a page of another program. */
import { isRecord } from '../contracts/json.ts';
import type { Server } from './server.ts';

/** The code is one of docs/errors.md, or one of docs/cli.md, which begin with `SERVER_`. */
export class ServerRefusal extends Error {
  override readonly name = 'ServerRefusal';
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
  constructor(code: string, message: string, details: Readonly<Record<string, unknown>> = {}, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.details = details;
  }
}

export function serverUnreachable({ url }: Server, cause: unknown): ServerRefusal {
  const { code } = ((cause as Error).cause ?? cause) as NodeJS.ErrnoException;
  const why = typeof code === 'string' && /^[A-Z_]{3,60}$/.test(code) ? ` (${code})` : '';
  return new ServerRefusal('SERVER_UNREACHABLE', `The server at ${url} cannot be reached${why}.`, {}, cause);
}

/** Why an answer is none that was asked for. */
export async function serverRefusal(server: Server, response: Response): Promise<ServerRefusal> {
  const text = await response.text().catch(() => '');
  return refusalIn(server, { status: response.status, headers: response.headers, text });
}

/** The member `data` of an answer. @throws ServerRefusal where what answers is not filemill */
export async function dataOf(server: Server, response: Response): Promise<Readonly<Record<string, unknown>>> {
  const text = await response.text();
  const body = parsed(text);
  if (response.ok && isRecord(body) && isRecord(body['data'])) return body['data'];
  throw refusalIn(server, { status: response.status, headers: response.headers, text });
}

interface Answer {
  readonly status: number;
  readonly headers: Pick<Headers, 'get'>;
  readonly text: string;
}

/** The same of an answer that was read. */
export function refusalIn(server: Server, { status, headers, text }: Answer): ServerRefusal {
  const { url } = server;
  const body = parsed(text);
  const { code, message, details } = isRecord(body) && isRecord(body['error']) ? body['error'] : {};
  if (typeof code === 'string') return new ServerRefusal(code, String(message), isRecord(details) ? details : {});
  const shows = Object.keys(server.headers).length > 0;
  if (status === 401)
    return new ServerRefusal(
      'SERVER_UNAUTHORIZED',
      shows
        ? `What answers at ${url} does not accept these credentials (HTTP 401): check the token, the header or the password.`
        : `What answers at ${url} wants credentials (HTTP 401): set FILEMILL_TOKEN, or send a header with --header @FILE, or name user and password in the URL.`,
    );
  if (status === 403)
    return new ServerRefusal(
      'SERVER_FORBIDDEN',
      `What answers at ${url} refuses this request (HTTP 403)${shows ? ': these credentials do not suffice, or this address may not use it' : ': it may want credentials, or not allow this address'}.`,
    );
  const location = headers.get('location');
  if (status >= 300 && status < 400 && location !== null)
    return new ServerRefusal(
      'SERVER_MOVED',
      `What answers at ${url} points to ${placeOf(location, url)}: if that is the server, name it instead. Redirects are not followed.`,
    );
  const kind = headers.get('content-type')?.split(';', 1)[0]?.slice(0, 60) ?? 'no content type';
  return new ServerRefusal(
    'SERVER_UNKNOWN',
    `What answers at ${url} is no filemill server, or none is behind it (HTTP ${status}, ${kind}).`,
  );
}

/** Where a redirect leads, without what may be secret in it. */
function placeOf(location: string, base: string): string {
  const to = URL.parse(location, base);
  return to === null ? 'another place' : `${to.origin}${(to.pathname.split('/api/v1/', 1)[0] ?? '').replace(/\/$/, '')}`.slice(0, 200);
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
