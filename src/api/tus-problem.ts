/** What the tus library refuses, in our words: the status stays the protocol's, the shape is that of every other refusal. */
import { type Code, Failure } from '../errors.ts';
import type { TusAnswer } from '../uploads/tus.ts';

/** Statuses of the library, and what each is here. */
const CODES: Readonly<Record<number, Code>> = {
  400: 'BAD_REQUEST',
  // A header is missing, which the protocol has no status for.
  403: 'BAD_REQUEST',
  404: 'UPLOAD_NOT_FOUND',
  409: 'UPLOAD_CONFLICT',
  410: 'UPLOAD_NOT_FOUND',
  413: 'FILE_TOO_LARGE',
  501: 'NOT_IMPLEMENTED',
};

/** Its sentences end in a line break, and name headers only. */
const shown = (says: string): string => says.replace(/[^\x20-\x7e]/g, '').slice(0, 200);

/** @param details of the upload, as far as they are known */
export function failureOfTus({ status, says, thrown }: TusAnswer, details: Readonly<Record<string, unknown>>): unknown {
  // Ours, or a fault: the library throws plain objects with a status of their own where a request is wrong.
  if (thrown instanceof Failure || (thrown !== undefined && !hasStatus(thrown))) return thrown;
  const code = CODES[status] ?? 'INTERNAL_ERROR';
  if (code === 'BAD_REQUEST') return new Failure(code, { says: `The tus request cannot be understood: ${shown(says)}.` });
  if (code === 'NOT_IMPLEMENTED') return new Failure(code, { says: shown(says), details: { reason: shown(says) } });
  if (code === 'INTERNAL_ERROR') return new Failure(code, { cause: thrown ?? says });
  return new Failure(code, { details, cause: thrown });
}

const hasStatus = (thrown: unknown): boolean => typeof thrown === 'object' && thrown !== null && 'status_code' in thrown;
