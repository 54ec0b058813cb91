/** Objects in S3 stores as sources and destinations: `s3://bucket/key`, with the field `s3`, which says how the store is used. */
import { isIPv4 } from 'node:net';
import { z } from 'zod';
import { Failure } from '../../../errors.ts';
import type { S3Login } from '../../../jobs/destination.ts';
import { isEndpoint } from '../../../objects/settings.ts';
import type { ApiDeps } from '../../deps.ts';
import { parseWithin } from '../../http/json-budget.ts';
import { linesOf, OUTPUT_URL, type Received, S3 } from '../../intake/receive.ts';
import type { Admitted, SentFields } from '../stages.ts';
import { refuseOwn } from './own.ts';

/** Length of the field, characters. */
const MOST_CHARACTERS = 4_096;
/** Length of an object's key, bytes: S3's own limit. */
const MOST_KEY_BYTES = 1_024;
/** So many of these bytes are left for a file's name, which is added to the start of a key. */
const MOST_NAME_BYTES = 255;
/** Fields whose values may name objects. */
const SOURCES: readonly string[] = ['url', 'urls', 'urls[]'];

interface ObjectPlace {
  readonly bucket: string;
  readonly key: string;
}

const Login = z.union([
  z.strictObject({ connection: z.string().min(1).max(63) }),
  z
    .strictObject({
      endpoint: z.string().max(253).refine(isEndpoint),
      region: z.string().min(1).max(63).default('us-east-1'),
      access_key_id: z.string().min(1).max(256),
      secret_access_key: z.string().min(1).max(256),
      session_token: z.string().min(1).max(2_048).optional(),
      path_style: z.boolean().default(true),
    })
    .transform(({ endpoint, region, access_key_id, secret_access_key, session_token, path_style }) => ({
      endpoint: new URL(endpoint).origin,
      region,
      pathStyle: path_style,
      accessKeyId: access_key_id,
      secretAccessKey: secret_access_key,
      ...(session_token === undefined ? {} : { sessionToken: session_token }),
    })),
]);

const LOGIN_ALLOWED =
  'a JSON object with endpoint (an origin such as "https://s3.eu-central-1.amazonaws.com"), region, access_key_id, secret_access_key, and perhaps session_token and path_style; or with connection alone, the name of one of this service';

/** @returns undefined where there is none @throws Failure `INVALID_OPTION`: what was sent is secret, and is not repeated */
export function readLogin(fields: SentFields['fields']): S3Login | undefined {
  const sent = fields.get(S3)?.trim() ?? '';
  if (sent === '') return undefined;
  const read = sent.length > MOST_CHARACTERS ? undefined : Login.safeParse(json(sent));
  if (read?.success !== true) throw refusedField(S3, LOGIN_ALLOWED);
  return read.data;
}

function json(text: string): unknown {
  try {
    return parseWithin(text, MOST_CHARACTERS);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export const namesObject = (url: string): boolean => /^s3:/i.test(url.slice(0, 3));

const PLACE_ALLOWED =
  'the object as s3://bucket/key: a bucket of 3 to 63 a-z, 0-9, single dots and hyphens that is no address, and a key of at most 1,024 bytes without control characters, whose parts between slashes are neither empty nor . nor ..';

/** @param mayEnd whether a key may be the start of one, with a slash at its end, or empty @throws Failure `INVALID_OPTION` */
export function readPlace(field: string, url: string, mayEnd: boolean): ObjectPlace {
  const [, bucket = '', key = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/([^\x00-\x1f\x7f]*)$/.exec(url.slice(0, 2 * MOST_KEY_BYTES)) ?? [];
  const whole = mayEnd ? key.replace(/\/$/, '') : key;
  const most = mayEnd && key.endsWith('/') ? MOST_KEY_BYTES - MOST_NAME_BYTES : MOST_KEY_BYTES;
  const isKey =
    (mayEnd && key === '') ||
    (key.isWellFormed() && Buffer.byteLength(key) <= most && whole.split('/').every((part) => !['', '.', '..'].includes(part)));
  if (bucket === '' || bucket.includes('..') || isIPv4(bucket) || !isKey) throw refusedField(field, PLACE_ALLOWED);
  return { bucket, key };
}

/** @throws Failure `INVALID_OPTION`, `URL_REFUSED` */
export async function judgeObject(
  deps: Pick<ApiDeps, 'destinations' | 'service'>,
  login: S3Login | undefined,
  place: ObjectPlace,
  { network = '', base }: Pick<Admitted, 'network' | 'base'>,
): Promise<S3Login> {
  const { destinations, service } = deps;
  if (destinations === undefined) throw refusedField(S3, 'nothing: this service reaches no S3 stores');
  if (login === undefined) throw refusedField(S3, LOGIN_ALLOWED);
  destinations.places.check(login, place, network);
  if ('connection' in login) return login;
  refuseOwn(deps, login.endpoint, base);
  if (!login.pathStyle) refuseOwn(deps, login.endpoint.replace('://', `://${place.bucket}.`), base);
  await destinations.judge(login.endpoint, service.stopping);
  return login;
}

/** The same request, whose objects have URLs that anything here can fetch. @throws Failure `INVALID_OPTION`, `URL_REFUSED`, `OVERLOADED` */
export async function withSignedSources(
  deps: Pick<ApiDeps, 'destinations' | 'service'>,
  sent: Received,
  admitted: Pick<Admitted, 'network' | 'base'>,
): Promise<Received> {
  const fields = new Map(sent.fields);
  const isUsed =
    namesObject(fields.get(OUTPUT_URL)?.trim() ?? '') ||
    SOURCES.some((field) => linesOf(fields.get(field) ?? '').some((line) => namesObject(line.trim())));
  if ((fields.get(S3) ?? '') !== '' && !isUsed) throw refusedField(S3, 'it together with a URL such as s3://bucket/key');
  for (const field of SOURCES) {
    const lines = linesOf(fields.get(field) ?? '').map((line) => line.trim());
    if (!lines.some(namesObject)) continue;
    const login = readLogin(fields);
    const signed: string[] = [];
    for (const line of lines) signed.push(namesObject(line) ? await signedSource(deps, field, line, login, admitted) : line);
    fields.set(field, signed.join('\n'));
  }
  return { ...sent, fields };
}

async function signedSource(
  deps: Pick<ApiDeps, 'destinations' | 'service'>,
  field: string,
  url: string,
  sent: S3Login | undefined,
  admitted: Pick<Admitted, 'network' | 'base'>,
): Promise<string> {
  const place = readPlace(field, url, false);
  const login = await judgeObject(deps, sent, place, admitted);
  return (await deps.destinations?.places.presign(login, 'GET', place)) ?? url;
}

/** What was sent may be secret, and is not repeated. */
export const refusedField = (option: string, allowed: string): Failure =>
  new Failure('INVALID_OPTION', {
    says: `The field "${option}" is invalid; expected ${allowed}.`,
    details: { option, received: null, allowed },
  });
