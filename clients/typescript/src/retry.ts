/** A fetch that asks again where that is safe and may help, after as long as `Retry-After` says. */
export interface RetryOptions {
  readonly fetch: typeof fetch;
  /** How often a request is sent at most. */
  readonly tries: number;
  /** How long one try may take, from its start to the headers of its answer, ms. */
  readonly tryMs: number;
}

export interface SendOptions {
  /** Whether it may be sent twice though its method and headers do not say so. */
  readonly isRepeatable?: boolean;
  /** How much longer one try may take, ms. */
  readonly moreMs?: number;
}
/** @throws why no answer came · the reason of the request's signal */
export type Send = (request: Request, options?: SendOptions) => Promise<Response>;

/** Statuses after which the same request may succeed (RFC 9110, RFC 6585); 409 while an earlier request with its key is under way. */
export const TRANSIENT: ReadonlySet<number> = new Set([408, 409, 425, 429, 502, 503, 504]);
/** Longest wait that a server may ask for, ms. */
const MOST_PAUSE_MS = 300_000;

/** A request that may be sent twice has no other effect than sent once. */
const isIdempotent = ({ method, headers }: Request): boolean =>
  method === 'GET' || method === 'HEAD' || method === 'DELETE' || headers.has('idempotency-key');

export function retrying({ fetch, tries, tryMs }: RetryOptions): Send {
  return async (request, { isRepeatable = isIdempotent(request), moreMs = 0 } = {}) => {
    for (let tried = 1; ; tried++) {
      const isLast = tried >= tries;
      let pauseMs = backoffMs(tried);
      try {
        // A request can be sent once: each try sends a copy.
        const response = await within(tryMs + moreMs, request.signal, (signal) => fetch(isLast ? request : request.clone(), { signal }));
        if (isLast || !TRANSIENT.has(response.status) || !(await mayPass(response, isRepeatable))) return response;
        pauseMs = Math.max(pauseMs, retryAfterMs(response));
        await response.body?.cancel();
      } catch (error) {
        if (isLast || request.signal.aborted || !isRepeatable) throw error;
      }
      await pause(pauseMs, request.signal);
    }
  };
}

/**
 * The error says whether the same request may succeed later; what stands between may answer without one, while the service goes on with the request.
 * @param isRepeatable whether the request may be sent twice
 */
async function mayPass(response: Response, isRepeatable: boolean): Promise<boolean> {
  const body = (await response
    .clone()
    .json()
    .catch(() => undefined)) as { error?: { details?: { retryable?: boolean } } } | undefined;
  const says = body?.error?.details?.retryable;
  return isRepeatable ? says !== false : says === true && (response.status === 429 || response.status === 503);
}

/** The signal holds until the headers are there: the body has the time that its reader gives it. */
async function within<T>(ms: number, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(new DOMException('The service did not answer in time.', 'TimeoutError')), ms);
  try {
    return await work(AbortSignal.any([signal, over.signal]));
  } finally {
    clearTimeout(timer);
  }
}

/** Seconds or a date (RFC 9110 §10.2.3). @returns ms */
export function retryAfterMs({ headers }: Pick<Response, 'headers'>): number {
  const text = headers.get('retry-after') ?? '';
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.min(MOST_PAUSE_MS, Math.max(0, ms));
}

/** 0.5, 1, 2, 4, 8, 8 … s, less up to half: clients that failed together do not come back together. */
export const backoffMs = (tried: number): number => Math.min(8_000, 250 * 2 ** tried) * (1 - Math.random() / 2);

/** @throws the reason of `signal` */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
