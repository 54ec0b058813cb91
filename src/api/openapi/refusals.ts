/** Which errors each kind of request may get: one response for each status, named after the kind. */
import { type Code, errorTable } from '../../errors.ts';
import { answerHeaders } from './headers.ts';
import { errorName } from './schemas.ts';
import type { Response, SchemaRef } from './shape.ts';
import { schemaRef } from './shape.ts';

const ANYWHERE: readonly Code[] = ['BAD_REQUEST', 'RATE_LIMITED', 'INTERNAL_ERROR', 'OVERLOADED'];
const ONE_FILE: readonly Code[] = ['NO_FILE', 'URL_REFUSED', 'BODY_TIMEOUT', 'FILE_TOO_LARGE', 'UPLOAD_NOT_FOUND', 'UPLOAD_CONFLICT'];
const WORK: readonly Code[] = ['BANNED', 'INVALID_OPTION', 'IDEMPOTENCY_MISMATCH', ...ONE_FILE];
const JOB: readonly Code[] = ['JOB_NOT_FOUND', 'JOB_EXPIRED'];

/** A URL may name the output of an earlier job. */
const OUTPUT_NAMED: readonly Code[] = ['NOT_FOUND', 'JOB_NOT_READY', 'CONVERSION_FAILED', 'OUTPUT_NOT_STORED'];

const KINDS = {
  Convert: [...WORK, ...OUTPUT_NAMED, 'INVALID_FORMAT', 'UNSUPPORTED_MIME', 'CONVERSION_FAILED', ...JOB],
  Batch: [...WORK, ...OUTPUT_NAMED, 'INVALID_FORMAT', 'BATCH_TOO_LARGE', ...JOB],
  Tool: [...WORK, ...OUTPUT_NAMED, 'NOT_FOUND', 'BATCH_TOO_LARGE', 'UNSUPPORTED_MIME', 'CONVERSION_FAILED', 'NOT_IMPLEMENTED', ...JOB],
  Upload: ['NO_FILE', 'BODY_TIMEOUT', 'PRECONDITION_FAILED', 'FILE_TOO_LARGE', 'NOT_IMPLEMENTED'],
  Resume: [
    'UPLOAD_NOT_FOUND',
    'BODY_TIMEOUT',
    'UPLOAD_CONFLICT',
    'PRECONDITION_FAILED',
    'FILE_TOO_LARGE',
    'UNSUPPORTED_MIME',
    'NOT_IMPLEMENTED',
  ],
  Job: [...JOB, 'INVALID_OPTION', 'CONVERSION_FAILED', 'OUTPUT_NOT_STORED'],
  Gone: JOB,
  Receipt: [...JOB, 'JOB_NOT_READY', 'CONVERSION_FAILED', 'OUTPUT_NOT_STORED'],
  Output: [...JOB, 'NOT_FOUND', 'INVALID_OPTION', 'JOB_NOT_READY', 'RANGE_NOT_SATISFIABLE', 'CONVERSION_FAILED', 'OUTPUT_NOT_STORED'],
  Choice: ['INVALID_OPTION'],
  Way: ['INVALID_OPTION', 'INVALID_FORMAT'],
  Slug: ['NOT_FOUND'],
  Read: [],
} as const satisfies Record<string, readonly Code[]>;
export type Kind = keyof typeof KINDS;

/** Errors that carry `Retry-After`. */
const PATIENT: readonly Code[] = ['RATE_LIMITED', 'BANNED', 'OVERLOADED', 'JOB_NOT_READY'];

function byStatus(kind: Kind): [string, readonly Code[]][] {
  const codes: readonly Code[] = [...new Set([...ANYWHERE, ...KINDS[kind]])];
  return Object.entries(Object.groupBy(codes, (code) => errorTable[code].status)).map(([status, met = []]) => [status, met]);
}

/** As an operation's `responses` name them. */
export const refusals = (kind: Kind): Readonly<Record<string, SchemaRef>> =>
  Object.fromEntries(byStatus(kind).map(([status]) => [status, { $ref: `#/components/responses/${kind}${status}` }]));

/** For `components.responses`. */
export const allRefusals = (): Readonly<Record<string, Response>> =>
  Object.fromEntries(
    (Object.keys(KINDS) as Kind[]).flatMap((kind) => byStatus(kind).map(([status, codes]) => [`${kind}${status}`, responseOf(codes)])),
  );

function responseOf(codes: readonly Code[]): Response {
  const patient = codes.every((code) => PATIENT.includes(code)) ? ['Retry-After'] : [];
  const range = codes.includes('RANGE_NOT_SATISFIABLE') ? ['Content-Range', 'Accept-Ranges'] : [];
  const refs = codes.map((code) => schemaRef(errorName(code)));
  const [only] = refs;
  return {
    description: codes.map((code) => `\`${code}\`: ${errorTable[code].says}`).join('\n\n'),
    headers: answerHeaders(...patient, ...range),
    content: {
      'application/json': {
        schema: refs.length === 1 && only !== undefined ? only : { anyOf: refs },
        examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
      },
    },
  };
}

function exampleOf(code: Code): object {
  const { says, retryable } = errorTable[code];
  const details = { ...EXAMPLES[code], request_id: '3f9d1f0e-8a6c-4a53-9a0e-0c1f5b6f2f11', retryable };
  return { error: { code, message: says, details } };
}

const JOB_ID = '0123456789abcdef0123456789abcdef';
const EXAMPLES: Partial<Readonly<Record<Code, object>>> = {
  INVALID_FORMAT: { from: 'png', to_format: 'mp3', targets: ['jpg', 'webp', 'pdf'] },
  URL_REFUSED: { reason: 'address' },
  BATCH_TOO_LARGE: { max_files: 20, received_files: 21 },
  INVALID_OPTION: { option: 'img_quality', received: '101', allowed: 'integer, 0 to 100' },
  BANNED: { ban_expires_at: '2026-01-02T12:00:00.000Z' },
  JOB_NOT_READY: { job_id: JOB_ID },
  FILE_TOO_LARGE: { max_bytes: 209_715_200, received_bytes: 209_715_201 },
  UNSUPPORTED_MIME: { detected: 'application/x-elf', accepted: [] },
  RANGE_NOT_SATISFIABLE: { size_bytes: 1024 },
  RATE_LIMITED: { tier: 'hourly', limit: 150, reset_seconds: 1200, rejections_last_hour: 1 },
  CONVERSION_FAILED: { reason: 'corrupt_input', job_id: JOB_ID, engine: 'FFmpeg' },
  OUTPUT_NOT_STORED: { status: 403, attempts: 1, job_id: JOB_ID },
  NOT_IMPLEMENTED: { slug: 'flip-image', reason: 'use rotate-image with flip-h or flip-v' },
};
