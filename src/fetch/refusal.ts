/** The refusals of the guarded download: one sentence per reason. None reveals the address behind a name. */
import { z } from 'zod';
import { Failure } from '../errors.ts';

/** The same sentence for both reasons: clients must not learn which names exist in our network. */
const NOT_PUBLIC = 'The host name in the URL cannot be resolved, or its address is not public.';

const SAYS = {
  scheme: 'The URL must begin with "https://".',
  address: NOT_PUBLIC,
  port: 'The service does not fetch files from the port in the URL.',
  credentials: 'The URL must not contain a user name or a password.',
  redirects: 'The URL redirects too many times.',
  dns: NOT_PUBLIC,
  unreachable: 'The file could not be fetched from this URL.',
} as const;

/** `details.reason` of `URL_REFUSED`. */
export type UrlRefusal = keyof typeof SAYS;

interface Particulars {
  /** Replaces the reason's sentence. */
  readonly says?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Whether the same URL may be fetched later; by default as `PASSES` says. */
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

/** What may pass: a name that is not resolved at the moment, a server that does not answer. */
const PASSES: ReadonlySet<UrlRefusal> = new Set(['dns', 'unreachable']);

export function urlRefused(
  reason: UrlRefusal,
  { says = SAYS[reason], details, retryable = PASSES.has(reason), cause }: Particulars = {},
): Failure {
  return new Failure('URL_REFUSED', { says, details: { ...details, reason }, retryable, cause });
}

/** A refusal as sent between two of our processes: what the client reads, without the cause. */
const RefusalMessage = z.object({
  says: z.string(),
  details: z.looseObject({ reason: z.enum(Object.keys(SAYS) as [UrlRefusal, ...UrlRefusal[]]) }),
  /** The version before sends none. */
  retryable: z.boolean().optional(),
});

/** One line of ASCII. */
export const refusalHeader = ({ message, details, retryable }: Failure): string =>
  encodeURIComponent(JSON.stringify({ says: message, details, retryable }));

/** Reads what `refusalHeader` wrote. @throws for any other text */
export function refusalFrom(header: string): Failure {
  const { says, details, retryable } = RefusalMessage.parse(JSON.parse(decodeURIComponent(header)));
  return urlRefused(details.reason, { says, details, ...(retryable === undefined ? {} : { retryable }) });
}
