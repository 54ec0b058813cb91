/** Where a request wants its result stored: its fields, which are taken out before the others are read. */
import { Failure } from '../../../errors.ts';
import { newDestination, type S3Login } from '../../../jobs/destination.ts';
import type { JobRecord } from '../../../jobs/record.ts';
import { refuseLarge } from '../../../jobs/room.ts';
import type { ApiDeps } from '../../deps.ts';
import { parseWithin } from '../../http/json-budget.ts';
import { OUTPUT_HEADERS, OUTPUT_URL, S3 } from '../../intake/receive.ts';
import type { Admitted, FilePart, JobPlan, SentFields, SubmitWork } from '../stages.ts';
import { refuseOwn } from './own.ts';
import { judgeObject, namesObject, readLogin, readPlace, refusedField } from './s3.ts';

export const DESTINATION_FIELDS: readonly string[] = [OUTPUT_URL, OUTPUT_HEADERS, S3];

/** Characters: a record has to have room for it, encrypted. Presigned URLs with a session token have up to some 2,500. */
const MOST_URL = 3_072;
/** All names and values together, characters. */
const MOST_HEADERS = 1_024;
/** Headers that the request sets by itself (RFC 9110, 6 to 10). */
const OWN_HEADERS: ReadonlySet<string> = new Set(
  'host connection content-length transfer-encoding te trailer upgrade expect range accept accept-encoding user-agent keep-alive proxy-authorization proxy-connection'.split(
    ' ',
  ),
);

/** With keys that may be the operator's, others could copy from where the client may not read, or give access away. */
const OBJECT_HEADERS: readonly string[] = ['cache-control', 'content-disposition', 'content-language', 'content-type'];

type DestinationDeps = Pick<ApiDeps, 'jobs' | 'destinations' | 'service'>;

interface WantedDestination {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For an object in an S3 store. */
  readonly s3?: S3Login;
}

/** @returns undefined where none is wanted @throws Failure `INVALID_OPTION`: what was sent may be secret, and is not repeated */
function readDestination({ destinations }: Pick<ApiDeps, 'destinations'>, fields: SentFields['fields']): WantedDestination | undefined {
  const [url, headers] = DESTINATION_FIELDS.map((name) => fields.get(name)?.trim() || undefined);
  if (url === undefined && headers === undefined) return undefined;
  if (destinations === undefined) throw refusedField(OUTPUT_URL, 'nothing: this service stores no results elsewhere');
  if (url === undefined) throw refusedField(OUTPUT_HEADERS, `it together with ${OUTPUT_URL}`);
  if (url.length > MOST_URL) throw refusedField(OUTPUT_URL, `a URL of at most ${MOST_URL} characters`);
  const read = { url, headers: headers === undefined ? {} : readHeaders(headers) };
  if (!namesObject(url)) return read;
  readPlace(OUTPUT_URL, url, true);
  if (Object.keys(read.headers).some((name) => !OBJECT_HEADERS.includes(name)))
    throw refusedField(OUTPUT_HEADERS, `for an object no headers but ${OBJECT_HEADERS.join(', ')}`);
  const s3 = readLogin(fields);
  if (s3 === undefined) throw refusedField(S3, 'how the store of output_url is used');
  return { ...read, s3 };
}

const HEADERS_ALLOWED = `a JSON object of at most ${MOST_HEADERS} characters with headers by name, such as {"Content-Type":"application/pdf"}`;

/** @returns by name, in lower case @throws Failure `INVALID_OPTION` */
function readHeaders(sent: string): Readonly<Record<string, string>> {
  if (sent.length > MOST_HEADERS) throw refusedField(OUTPUT_HEADERS, HEADERS_ALLOWED);
  let read: unknown;
  try {
    read = parseWithin(sent, MOST_HEADERS);
  } catch (error) {
    throw error instanceof SyntaxError ? refusedField(OUTPUT_HEADERS, HEADERS_ALLOWED) : error;
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read)) throw refusedField(OUTPUT_HEADERS, HEADERS_ALLOWED);
  const headers = Object.entries(read).map(([name, value]) => [name.toLowerCase(), value] as const);
  for (const [name, value] of headers) {
    if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(name) || typeof value !== 'string' || !/^[\x20-\x7e]*$/.test(value))
      throw refusedField(OUTPUT_HEADERS, `${HEADERS_ALLOWED}, of visible ASCII`);
    if (OWN_HEADERS.has(name)) throw refusedField(OUTPUT_HEADERS, `no header that the request sets by itself, such as ${name}`);
  }
  return Object.fromEntries(headers);
}

export const wantsDestination = (fields: SentFields['fields']): boolean => (fields.get(OUTPUT_URL) ?? '') !== '';

/** Before a file is fetched. @throws Failure `INVALID_OPTION`, `URL_REFUSED` with `details.field` */
export async function judgeDestination(
  deps: DestinationDeps,
  fields: SentFields['fields'],
  admitted: Pick<Admitted, 'base' | 'network'>,
): Promise<void> {
  const wanted = readDestination(deps, fields);
  if (wanted === undefined) return;
  try {
    if (namesObject(wanted.url)) await judgeObject(deps, wanted.s3, readPlace(OUTPUT_URL, wanted.url, true), admitted);
    else {
      refuseOwn(deps, wanted.url, admitted.base);
      await deps.destinations?.judge(wanted.url, deps.service.stopping);
    }
  } catch (error) {
    throw error instanceof Failure
      ? error.with({ says: `The field "${OUTPUT_URL}": ${error.message}`, details: { ...error.details, field: OUTPUT_URL } })
      : error;
  }
}

/** The same work, whose job has in its record where the result goes. */
export function workWithDestination(deps: DestinationDeps, work: SubmitWork, { client }: Pick<Admitted, 'client'>): SubmitWork {
  const others = (fields: SentFields['fields']) => new Map([...fields].filter(([name]) => !DESTINATION_FIELDS.includes(name)));
  const withDestination = <F extends FilePart>(plan: JobPlan<F>, wanted: WantedDestination): JobPlan<F> => {
    const destination = newDestination(deps.jobs.encryption, plan.id, { ...wanted, client });
    return {
      ...plan,
      known: { ...plan.known, destination },
      validate: async (files) => refuseLarge({ ...(await plan.validate(files)), destination }),
    };
  };
  return {
    check(sent) {
      readDestination(deps, sent.fields);
      work.check({ ...sent, fields: others(sent.fields) });
    },
    plan(brought) {
      const wanted = readDestination(deps, brought.fields);
      const plans = work.plan({ ...brought, fields: others(brought.fields) });
      if (wanted === undefined) return plans;
      if (plans.length > 1) throw refusedField(OUTPUT_URL, `one result: this request makes ${plans.length}; send a request for each`);
      return plans.map((plan) => withDestination(plan, wanted));
    },
  };
}

/** The job that was created here. */
export function followDestinations({ destinations }: Pick<ApiDeps, 'destinations'>, records: readonly JobRecord[]): void {
  for (const { id, destination } of records) if (destination !== undefined) destinations?.follow(id);
}
