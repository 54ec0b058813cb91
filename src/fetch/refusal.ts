/** How the guarded download says no: one sentence a reason, none of which repeats an address that a name stands for. */
import { z } from 'zod';
import { Failure } from '../errors.ts';

/** The same for both: whether a name is known inside, where only its address keeps it from being fetched, is nobody's business outside. */
const NOT_PUBLIC = 'The URL leads to no public address: its name cannot be resolved, or stands for one that is not public.';

const SAYS = {
  scheme: 'The URL must begin with "https://".',
  address: NOT_PUBLIC,
  port: 'The URL names a port that files are not fetched from.',
  credentials: 'The URL must not hold a user name or a password.',
  redirects: 'The URL redirects more often than is followed.',
  dns: NOT_PUBLIC,
  unreachable: 'The file could not be fetched from this URL.',
} as const;

/** `details.reason` of `URL_REFUSED`. */
export type Refusal = keyof typeof SAYS;

interface Particulars {
  /** Replaces the reason's sentence. */
  readonly says?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

export function refused(reason: Refusal, { says = SAYS[reason], details, cause }: Particulars = {}): Failure {
  return new Failure('URL_REFUSED', { says, details: { ...details, reason }, cause });
}

/** On its way between two of our processes: what a client reads, never the cause. */
const Word = z.object({
  says: z.string(),
  details: z.looseObject({ reason: z.enum(Object.keys(SAYS) as [Refusal, ...Refusal[]]) }),
});

/** One line of ASCII. */
export const refusalHeader = ({ message, details }: Failure): string => encodeURIComponent(JSON.stringify({ says: message, details }));

/** @returns the Failure that `wordOf` was given @throws where it is no such word */
export function refusalFrom(word: string): Failure {
  const { says, details } = Word.parse(JSON.parse(decodeURIComponent(word)));
  return new Failure('URL_REFUSED', { says, details });
}
