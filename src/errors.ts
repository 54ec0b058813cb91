/** Every way in which filemill says no: one row each, for REST, MCP, conditions, metrics and the docs. */

const TABLE = {
  NO_FILE: { status: 400, retryable: false, says: 'The request has no file: send one as multipart/form-data in the field "file".' },
  BAD_REQUEST: { status: 400, retryable: false, says: 'The request is malformed.' },
  INVALID_FORMAT: {
    status: 400,
    retryable: false,
    says: 'The target format is missing or unknown, or this file cannot be converted to it.',
  },
  URL_REFUSED: { status: 400, retryable: false, says: 'The service cannot fetch the file from this URL.' },
  BATCH_TOO_LARGE: { status: 400, retryable: false, says: 'The request has more files than the service accepts in one request.' },
  INVALID_OPTION: { status: 400, retryable: false, says: 'The value of an option is malformed or out of bounds.' },
  FORBIDDEN: { status: 403, retryable: false, says: 'The service does not answer requests to this host name or from this web page.' },
  BANNED: { status: 403, retryable: true, says: 'This client is temporarily banned: the service refused too many of its requests.' },
  JOB_NOT_FOUND: { status: 404, retryable: false, says: 'There is no such job.' },
  UPLOAD_NOT_FOUND: { status: 404, retryable: false, says: 'There is no such upload, or it has expired: send the file again.' },
  NOT_FOUND: { status: 404, retryable: false, says: 'There is no such endpoint.' },
  METHOD_NOT_ALLOWED: { status: 405, retryable: false, says: 'This endpoint does not support the method.' },
  NOT_ACCEPTABLE: {
    status: 406,
    retryable: false,
    says: 'The header Accept must allow application/json or text/event-stream.',
  },
  BODY_TIMEOUT: { status: 408, retryable: true, says: 'The request body arrived too slowly.' },
  JOB_NOT_READY: { status: 409, retryable: true, says: 'The job is not done yet: try again later.' },
  UPLOAD_CONFLICT: {
    status: 409,
    retryable: true,
    says: 'The header `Upload-Offset` does not match the offset of the upload: read it with HEAD.',
  },
  JOB_EXPIRED: { status: 410, retryable: false, says: 'The job has expired and its files were deleted.' },
  PRECONDITION_FAILED: { status: 412, retryable: false, says: 'The service does not support the protocol version of this request.' },
  FILE_TOO_LARGE: { status: 413, retryable: false, says: 'The file is larger than this service accepts.' },
  UNSUPPORTED_MIME: { status: 415, retryable: false, says: 'The service does not support this file type.' },
  RANGE_NOT_SATISFIABLE: { status: 416, retryable: false, says: 'The requested range lies outside the file.' },
  IDEMPOTENCY_MISMATCH: {
    status: 422,
    retryable: false,
    says: 'This Idempotency-Key was used for a different request: send a new key with a new request.',
  },
  OUTPUT_NOT_STORED: { status: 424, retryable: false, says: 'The result could not be stored where the request wanted it.' },
  RATE_LIMITED: { status: 429, retryable: true, says: 'This client has reached one of its limits: try again later.' },
  CONVERSION_FAILED: { status: 500, retryable: false, says: 'The file could not be converted.' },
  INTERNAL_ERROR: { status: 500, retryable: true, says: 'Something went wrong on our side.' },
  NOT_IMPLEMENTED: { status: 501, retryable: false, says: 'This feature is listed but not available on this server.' },
  OVERLOADED: { status: 503, retryable: true, says: 'The service cannot accept more work at present: try again later.' },
} as const satisfies Record<string, Row>;

/** Why a job failed: the finer half of `CONVERSION_FAILED`, in `details.reason`. */
const REASONS = {
  corrupt_input: 'The file is damaged or not what it claims to be.',
  unsupported_variant: 'The file uses a variant of its format that this service does not convert.',
  password_unreadable: "The service can no longer decrypt the file's password, because its key was changed: send the file again.",
  password_required:
    'The file is encrypted: send its password in the field "password", or remove the password of a PDF first, with unlock-pdf.',
  wrong_password: 'The password does not open this file.',
  input_limit: 'The file exceeds a limit of this service, such as its number of pages or pixels.',
  output_limit: 'The result would be larger than this service allows.',
  no_stream: 'The file does not have the audio or video stream that this conversion needs.',
  timeout: 'The conversion exceeded its time limit.',
  queue_timeout: 'The job waited too long for a worker.',
  memory: 'The conversion exceeded its memory limit.',
  engine_crashed: 'The conversion program crashed on this file.',
  engine_missing: 'The program that this conversion needs is not installed.',
  model_not_installed: 'This file needs a model that is not installed on this server.',
  unsupported_mime: 'The service does not support this file type.',
  no_file: 'The file is empty.',
  invalid_format: 'This file cannot be converted to the target format.',
  invalid_option: 'An option does not fit this file, such as a page that it does not have; the error code is `INVALID_OPTION`.',
  url_refused: 'The file could not be fetched from its URL.',
  file_too_large: 'The file is larger than this service accepts.',
  output_invalid: 'The conversion program produced no usable output.',
  property_lost: 'The result does not have what the source has and this conversion keeps, so it is not delivered.',
  output_not_stored: 'The result could not be stored where the request wanted it.',
  page_unreachable: 'The page could not be loaded: its server cannot be reached, answers with an error, or has no public address.',
  cancelled: 'The job was cancelled.',
  internal: 'Something went wrong on our side while converting.',
} as const;

export type Code = keyof typeof TABLE;
export type Reason = keyof typeof REASONS;

interface Row {
  /** HTTP status (RFC 9110). */
  readonly status: number;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** What a person reads when the thrower has nothing better to say: what failed, and what to do. */
  readonly says: string;
}

interface Particulars {
  /** Replaces the row's sentence. Shown to the client: names fields and allowed values, never paths or commands. */
  readonly says?: string;
  /** Machine-readable particulars, shown to the client. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Replaces the row's: whether the same request may succeed later. */
  readonly retryable?: boolean | undefined;
  /** When to try again, seconds: the header `Retry-After`. */
  readonly retryAfter?: number | undefined;
  /** What really happened. Logged, never sent. */
  readonly cause?: unknown;
}

/** Long enough for a queue to move on, or for an operator to look at the disk. */
const OVERLOADED_SECONDS = 5;

/** A refusal or failure that clients may see. Anything else that is thrown is a bug, and answers INTERNAL_ERROR. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly code: Code;
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryAfter: number | undefined;
  readonly retryable: boolean;

  constructor(code: Code, { says, details = {}, retryable = TABLE[code].retryable, retryAfter, cause }: Particulars = {}) {
    super(says ?? TABLE[code].says, { cause });
    this.code = code;
    this.details = details;
    this.retryable = retryable;
    this.retryAfter = retryAfter ?? (code === 'OVERLOADED' ? OVERLOADED_SECONDS : undefined);
  }

  get status(): number {
    return TABLE[this.code].status;
  }

  /** @returns the same failure with another sentence or other details: all else about it stays true */
  with({ says = this.message, details = this.details }: Pick<Particulars, 'says' | 'details'>): Failure {
    const { code, retryable, retryAfter, cause } = this;
    return new Failure(code, { says, details, retryable, retryAfter, cause });
  }
}

/** A conversion that ran and failed. @param says replaces the reason's sentence; never paths or commands */
export function conversionFailed(reason: Reason, { says, details, retryable, cause }: Particulars = {}): Failure {
  return new Failure('CONVERSION_FAILED', { says: says ?? REASONS[reason], details: { ...details, reason }, retryable, cause });
}

/**
 * A bound of the service that the file exceeds.
 * @param max what is allowed @param received what the file has
 * @param says replaces the sentence, where the bound is on what the result would have
 */
export function inputLimit(
  limit: string,
  max: number,
  received: number,
  says = `The file exceeds a limit of this service: ${limit} ${received}, at most ${max}.`,
): Failure {
  return conversionFailed('input_limit', { says, details: { limit, max, received } });
}

/** A bound of the service that the file or its result falls short of. @param min what is allowed */
export function belowLimit(limit: string, min: number, received: number, says: string): Failure {
  return conversionFailed('input_limit', { says, details: { limit, min, received } });
}

/** An option that asks for what this file does not have: the client's mistake, found out as soon as the file was looked at. */
export interface OptionMisfit {
  readonly option: string;
  /** The option's value, as the client would write it. */
  readonly received: string;
  /** What it takes for this file. */
  readonly allowed: string;
  /** What there is, what is asked, and in which direction it fails. */
  readonly says: string;
}

export const misfit = ({ says, ...details }: OptionMisfit): Failure => new Failure('INVALID_OPTION', { says, details: { ...details } });

/** @param maxBytes what is accepted @param receivedBytes what was declared, else what had come when it was too much @param filename tells which of several */
export function fileTooLarge(maxBytes: number, receivedBytes: number, filename?: string): Failure {
  return new Failure('FILE_TOO_LARGE', {
    says: `The file is larger than ${maxBytes} bytes, the maximum that this service accepts.`,
    details: { max_bytes: maxBytes, received_bytes: receivedBytes, ...(filename === undefined ? {} : { filename }) },
  });
}

/** The rows, for the generated error page and the tests that hold every surface to them. */
export const errorTable: Readonly<Record<Code, Row>> = TABLE;
export const reasonTable: Readonly<Record<Reason, string>> = REASONS;

export const isReason = (value: unknown): value is Reason => typeof value === 'string' && Object.hasOwn(REASONS, value);

/** A record was changed, created or removed since the revision that a write names: read it again, then decide again. Every store throws this one. */
export class RevisionConflict extends Error {
  override readonly name = 'RevisionConflict';
}

/** The innermost cause. */
export const innermostCause = (error: unknown): unknown =>
  error instanceof Error && error.cause !== undefined ? innermostCause(error.cause) : error;
