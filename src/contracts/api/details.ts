/** What `error.details` holds beside `request_id` and `retryable`, by code. */
import { z } from 'zod';

const count = z.number().int().min(0);
const text = z.string();

/** Where a recipe is refused or fails. */
const ofStep = {
  step: text.optional().describe('Name of the step of a recipe'),
  field: text.optional().describe('What of the step it is about, such as `from` or `options.pages`'),
};

export const details: Readonly<Record<string, z.ZodRawShape>> = {
  INVALID_FORMAT: { from: text.optional(), to_format: text.optional(), targets: z.array(text), ...ofStep },
  URL_REFUSED: { reason: z.enum(['scheme', 'address', 'port', 'credentials', 'redirects', 'dns', 'unreachable']) },
  BATCH_TOO_LARGE: { max_files: count, received_files: count, ...ofStep },
  INVALID_OPTION: { option: text, received: text.nullable(), allowed: z.union([text, z.array(text)]), ...ofStep },
  BANNED: { ban_expires_at: z.iso.datetime() },
  UPLOAD_NOT_FOUND: { upload_id: text.optional() },
  UPLOAD_CONFLICT: { upload_id: text.optional(), received_bytes: count.optional(), size_bytes: count.optional() },
  METHOD_NOT_ALLOWED: { allowed: z.array(text) },
  JOB_EXPIRED: { reason: text.optional().describe('`cancelled` or `deleted`, where a client asked for that') },
  JOB_NOT_READY: { job_id: text.optional(), batch_id: text.optional() },
  FILE_TOO_LARGE: { max_bytes: count, received_bytes: count, filename: text.optional() },
  UNSUPPORTED_MIME: { detected: text, accepted: z.array(text).optional(), ...ofStep },
  RANGE_NOT_SATISFIABLE: { size_bytes: count },
  OUTPUT_NOT_STORED: {
    status: z.number().int().optional().describe('HTTP status that the store answered with'),
    store_error: text
      .optional()
      .describe(
        'Why it did not answer: `dns`, `unreachable`, `timeout`, `address`, `unavailable`, `interrupted`, `missing`, `crashed`, `disabled`, `key`, `connection`',
      ),
    attempts: count,
    job_id: text.optional(),
  },
  RATE_LIMITED: { tier: text, limit: z.number(), reset_seconds: count, rejections_last_hour: count },
  CONVERSION_FAILED: {
    reason: text.optional(),
    job_id: text.optional(),
    batch_id: text.optional(),
    engine: text.optional(),
    limit: text.optional(),
    max: z.number().optional(),
    received: z.number().optional(),
    ...ofStep,
  },
  NOT_IMPLEMENTED: { slug: text, reason: text, ...ofStep },
  OVERLOADED: { pool: text.optional() },
};
