/** How the guarded download says no: one sentence a reason, none of which repeats an address that a name stands for. */
import { Failure } from '../errors.ts';

const SAYS = {
  scheme: 'The URL must begin with "https://".',
  address: 'The URL does not lead to a public address.',
  port: 'The URL names a port that files are not fetched from.',
  credentials: 'The URL must not hold a user name or a password.',
  redirects: 'The URL redirects more often than is followed.',
  dns: 'The name in the URL could not be resolved.',
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
