/** Failed calls to the API server: its error responses, and what is known if it did not respond. */

/** One invalid field, as the server describes it. */
export interface Cause {
  readonly field?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** The server's description of a failure (`metav1.Status`). */
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
  /** HTTP status; 0 if there was no response: it is then unknown whether the call took effect. */
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

/** @param body as received; proxies in between answer in HTML @param retryAfter the header, seconds */
export function kubeErrorOf(code: number, body: string, retryAfter?: string): KubeError {
  let status: Status = {};
  try {
    status = JSON.parse(body) as Status;
  } catch {
    // Not JSON: the text itself becomes the message.
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
/** For `catch`: an object that is already removed is no failure. @throws every other error */
export function unlessNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}
export const isAlreadyExists = has('AlreadyExists');
/** The object was written since the version that the call names, or another manager owns a field. */
export const isConflict = has('Conflict');
/** The server no longer has the version that a list or watch would continue from. */
export const isExpired = has('Expired', 'Gone');

/** Whether the same call may succeed soon: no response, too many requests, or an error of the server. */
export const isTransient = (error: unknown): boolean =>
  error instanceof KubeError && (error.status === 0 || error.status === 429 || error.status >= 500);
