/** A job record as the text that a backend stores: bounded when written, validated when read. */
import { type JobRecord, RECORD_VERSION } from './record.ts';
import { JobRecordSchema } from './record-schema.ts';

/** Bytes. A record is read on every poll and copied on every write: long texts belong in objects. */
export const MAX_RECORD_BYTES = 16_384;

/** @throws RangeError if the record is too large to be stored, or not of this version */
export function toText(record: JobRecord): string {
  // Types ensure the shape; only the size, and the version of a record read elsewhere, must be checked at run time.
  if (record.version !== RECORD_VERSION) throw new RangeError(`job ${record.id}: cannot write a record of version ${record.version}`);
  const text = JSON.stringify(record);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_RECORD_BYTES)
    throw new RangeError(`job ${record.id}: its record has ${bytes} bytes, and at most ${MAX_RECORD_BYTES} are allowed`);
  return text;
}

/** @throws Unreadable */
export function fromText(id: string, text: string): JobRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Unreadable(id, 'it is not JSON', { cause });
  }
  const read = JobRecordSchema.safeParse(value);
  if (read.success) return read.data;
  const version = versionOf(value);
  if (version !== undefined && version > RECORD_VERSION) {
    throw new Unreadable(id, `it has version ${version}, this filemill reads ${RECORD_VERSION}: upgrade`, { cause: read.error });
  }
  throw new Unreadable(id, 'it does not have the shape of a record', { cause: read.error });
}

/** A stored record that this process cannot read: written by a newer filemill, or damaged. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
  readonly jobId: string;
  constructor(jobId: string, why: string, options?: ErrorOptions) {
    super(`the record of job ${jobId} cannot be read: ${why}`, options);
    this.jobId = jobId;
  }
}

function versionOf(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('version' in value)) return undefined;
  return typeof value.version === 'number' ? value.version : undefined;
}
