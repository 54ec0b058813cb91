/** What the API server answers where it does not do what it is asked, and what is known where it does not answer. */

/** One thing wrong with one field, in the server's words. */
export interface Cause {
  readonly field?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** The server's own words for a failure (`metav1.Status`). */
interface Status {
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: { readonly causes?: readonly Cause[]; readonly retryAfterSeconds?: number };
}

interface Particulars {
  readonly causes?: readonly Cause[];
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

export class KubeError extends Error {
  /** HTTP; 0 where no answer came, and whether the call was carried out is not known. */
  readonly status: number;
  /** `AlreadyExists`, `Conflict`, `Expired`, `Forbidden`…; ours are `Unreachable` and `TimedOut`. */
  readonly reason: string;
  readonly causes: readonly Cause[];
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, reason: string, message: string, { causes = [], retryAfterSeconds, cause }: Particulars = {}) {
    super(message, { cause });
    this.name = 'KubeError';
    this.status = status;
    this.reason = reason;
    this.causes = causes;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const REASONS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
};

/** @param body as it came; proxies in between answer in HTML @param retryAfter the header, seconds */
export function refusal(code: number, body: string, retryAfter?: string): KubeError {
  let status: Status = {};
  try {
    status = JSON.parse(body) as Status;
  } catch {
    // The text itself says it, below.
  }
  const seconds = status.details?.retryAfterSeconds ?? Number.parseInt(retryAfter ?? '', 10);
  return new KubeError(
    code,
    status.reason || (REASONS[code] ?? `Http${code}`),
    status.message ?? (body.slice(0, 200).trim() || `the API server answered ${code}`),
    { causes: status.details?.causes ?? [], retryAfterSeconds: Number.isFinite(seconds) ? seconds : undefined },
  );
}

const has =
  (...reasons: readonly string[]) =>
  (error: unknown): boolean =>
    error instanceof KubeError && reasons.includes(error.reason);

export const isNotFound = has('NotFound');
/** For `catch`: what is gone already is no failure. @throws every other error */
export function unlessNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}
export const isAlreadyExists = has('AlreadyExists');
/** The object was written since the version that the call names, or another manager owns a field. */
export const isConflict = has('Conflict');
/** The server has forgotten the version that a list or watch would go on from. */
export const isExpired = has('Expired', 'Gone');

/** Whether the same call may succeed in a moment: no answer, too many requests, or trouble of the server's own. */
export const isTransient = (error: unknown): boolean =>
  error instanceof KubeError && (error.status === 0 || error.status === 429 || error.status >= 500);
