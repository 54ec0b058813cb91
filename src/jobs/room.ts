/** Whether the record of a recipe has room for all that it is given until its end. */
import { Failure } from '../errors.ts';
import type { JobRecord } from './record.ts';
import { MAX_RECORD_BYTES } from './text.ts';

/** When the job is created: what is added on its way is small. */
const MOST_RECORD_BYTES = 14_000;
/** What a named result takes in place of its recipe: its names, its type and its digest. */
const RESULT_BYTES = 450;

/** @param record with its webhook, where it has one; of a job that may have no recipe @throws Failure `BAD_REQUEST` */
export function refuseLarge(record: JobRecord): JobRecord {
  const { recipe, ...rest } = record;
  if (recipe === undefined) return record;
  const sizeOf = (what: object) => Buffer.byteLength(JSON.stringify(what));
  const bytes = Math.max(sizeOf(record), sizeOf(rest) + recipe.outputs.length * RESULT_BYTES);
  if (bytes <= MOST_RECORD_BYTES) return record;
  throw new Failure('BAD_REQUEST', {
    says: `The recipe is too long for so many files: it comes to ${bytes} bytes, and at most ${MOST_RECORD_BYTES} are accepted.`,
    details: { field: 'recipe', max_bytes: MOST_RECORD_BYTES },
  });
}

/** What claims, moves, uploads and webhooks add to a record later, bytes. */
const SPARE_BYTES = 2_048;

/** The record, without the last of its warnings where it could not be stored with all. */
export function withinRoom(record: JobRecord): JobRecord {
  const isLarge = (warnings: JobRecord['warnings']) =>
    Buffer.byteLength(JSON.stringify({ ...record, warnings })) > MAX_RECORD_BYTES - SPARE_BYTES;
  let { warnings } = record;
  while (warnings.length > 0 && isLarge(warnings)) warnings = warnings.slice(0, -1);
  return { ...record, warnings };
}
