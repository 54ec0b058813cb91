/** What the service answers when it says no. */
interface Problem {
  readonly error?: { readonly code?: string; readonly message?: string; readonly details?: Readonly<Record<string, unknown>> };
}

/** A request was refused, or its job failed. The codes are in docs/errors.md. */
export class FilemillError extends Error {
  override readonly name = 'FilemillError';
  readonly code: string;
  /** HTTP status. */
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;

  /** @param body of the answer, as parsed */
  constructor(status: number, body: unknown) {
    const { code = 'UNKNOWN', message, details = {} } = (body as Problem | undefined)?.error ?? {};
    super(message ?? `The service answered with HTTP status ${status}.`);
    this.status = status;
    this.code = code;
    this.details = details;
  }

  /** Whether the same request may succeed later. */
  get isRetryable(): boolean {
    return this.details['retryable'] === true;
  }

  static async from(response: Response): Promise<FilemillError> {
    return new FilemillError(response.status, await response.json().catch(() => undefined));
  }
}
