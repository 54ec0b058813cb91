/** Objects in S3 stores that requests name: with credentials of the request, or with a connection that the operator has declared. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../errors.ts';
import type { S3Login } from '../jobs/destination.ts';
import { parseAddress, parseNetwork } from '../limits/clients/network.ts';
import { s3Calls } from '../objects/s3/call.ts';
import type { S3Access } from '../objects/s3/credentials.ts';
import type { S3Connections } from './settings.ts';

export interface ObjectPlace {
  readonly bucket: string;
  /** With a slash at its end, what the key of an object begins with. */
  readonly key: string;
}

export interface S3Places {
  /** Whether a client may use it so. @param network of the client @throws Failure `INVALID_OPTION` */
  check(login: S3Login, place: ObjectPlace, network: string): void;
  /** @returns the store's origin; undefined where there is no such connection any more */
  originOf(login: S3Login): string | undefined;
  /** @returns a URL for one request @throws Failure `INVALID_OPTION` where there is no such connection any more; `OVERLOADED` where its keys cannot be read */
  presign(login: S3Login, method: 'GET' | 'PUT', place: ObjectPlace): Promise<string>;
  /** Whether a URL was signed here for a connection: the operator says where that may be. */
  isOperators(url: string): boolean;
}

/** How long a signed URL may be used, s: longer than a file may wait for its turn and take. */
const SIGNED_S = 3_600;
/** Nothing is asked of the store to sign, ms. */
const SIGN_MS = 5_000;
/** Signed URLs that are known at a time: those beyond are not reached where their address is private. */
const MOST_KNOWN = 10_000;

type Connection = S3Connections[string];

export function s3Places(connections: S3Connections): S3Places {
  const known = new Set<string>();
  const named = (name: string): Connection => {
    const found = Object.hasOwn(connections, name) ? connections[name] : undefined;
    if (found === undefined) throw refused(`a connection of this service${namesOf(connections)}`);
    return found;
  };
  const remember = (url: string): void => {
    const [oldest] = known;
    if (known.size >= MOST_KNOWN && oldest !== undefined) known.delete(oldest);
    known.add(url);
    setTimeout(() => known.delete(url), SIGNED_S * 1_000).unref();
  };

  return {
    check(login, { bucket, key }, network) {
      if (!('connection' in login)) return;
      const { buckets, prefixes, clients } = named(login.connection);
      const address = parseAddress(network.replace(/\/64$/, ''));
      if (address === undefined || !clients.some((each) => parseNetwork(each).has(address)))
        throw refused('a connection of this service that this client may use');
      if (!buckets.includes(bucket)) throw refused(`one of the buckets of the connection: ${buckets.join(', ')}`);
      if (!prefixes.some((prefix) => key.startsWith(prefix))) throw refused(`a key that begins with ${prefixes.join(' or ')}`);
    },
    originOf: (login) =>
      'connection' in login
        ? Object.hasOwn(connections, login.connection)
          ? connections[login.connection]?.endpoint
          : undefined
        : login.endpoint,
    async presign(login, method, place) {
      if (!('connection' in login)) return signed(login, login, method, place);
      const connection = named(login.connection);
      const url = await signed(connection, await keysOf(connection), method, place);
      remember(url);
      return url;
    },
    isOperators: (url) => known.has(url),
  };
}

const signed = (
  { endpoint, region, pathStyle }: Pick<Connection, 'endpoint' | 'region' | 'pathStyle'>,
  { accessKeyId, secretAccessKey, sessionToken }: Pick<S3Access, 'accessKeyId' | 'secretAccessKey' | 'sessionToken'>,
  method: 'GET' | 'PUT',
  { bucket, key }: ObjectPlace,
): Promise<string> =>
  s3Calls({ endpoint, region, pathStyle, bucket, accessKeyId, secretAccessKey, sessionToken }, SIGN_MS)('sign a URL', (s3) =>
    s3.presignedUrl(method, bucket, key, SIGNED_S),
  );

async function keysOf({ accessKeyId, secretAccessKey, secretDir }: Connection) {
  if (secretDir === undefined) return { accessKeyId: accessKeyId ?? '', secretAccessKey: secretAccessKey ?? '' };
  // Read each time: a Secret that is replaced needs no restart.
  const read = async (name: string) => (await readFile(join(secretDir, name), 'utf8')).trim();
  try {
    return { accessKeyId: await read('accessKeyId'), secretAccessKey: await read('secretAccessKey') };
  } catch (cause) {
    throw new Failure('OVERLOADED', { says: 'The credentials of the connection cannot be read at present.', cause });
  }
}

const namesOf = (connections: S3Connections): string => {
  const names = Object.keys(connections);
  return names.length === 0 ? ', which has none' : `: ${names.join(', ')}`;
};

/** What was sent may be secret, and is not repeated. */
const refused = (allowed: string): Failure =>
  new Failure('INVALID_OPTION', {
    says: `The field "s3" or its URL is invalid; expected ${allowed}.`,
    details: { option: 's3', received: null, allowed },
  });
