/** Refusals of a form that need no look at its files: too many or none, fields that are too long or sent twice. */
import { Failure } from '../../errors.ts';

/** How many files were sent, and what the refusal of a form without one says about it. */
export interface Counted {
  readonly fields: ReadonlyMap<string, string>;
  /** How many were sent, those beyond the maximum included. */
  readonly count: number;
  /** The names of file parts that were ignored. */
  readonly strays?: readonly string[];
  /** The media type of a body that can have no file. */
  readonly contentType?: string | undefined;
}

/** @throws Failure `NO_FILE`, `BAD_REQUEST` */
export function refuseUnlessOne(counted: Counted): void {
  if (counted.count > 1) throw severalFiles(counted.count);
  if (counted.count === 0) throw noFile(counted, 'file');
}

/** @throws Failure `NO_FILE` where there is none, or it is empty */
export function firstFile<F extends { readonly sizeBytes: number }>([file]: readonly F[]): F {
  if (file === undefined) throw new Failure('NO_FILE');
  if (file.sizeBytes === 0) throw new Failure('NO_FILE', { says: 'The file is empty.' });
  return file;
}

/** The refusal of several files where one is taken. */
export const severalFiles = (count: number, field = 'file'): Failure =>
  new Failure('BAD_REQUEST', {
    says: `The form has more than one file in the field "${field}": send one.`,
    details: { max_files: 1, received_files: count },
  });

/** The refusal of a form without a file, which names the fields that a file did come in. @param amount how many to send */
export function noFile({ strays = [], fields, contentType }: Omit<Counted, 'count'>, field: string, amount = 'one'): Failure {
  if (contentType !== undefined) return noForm(contentType, field);
  const names = [...new Set(strays)].map(shownName);
  const hint =
    names.length > 0
      ? ` The request has a file in the field ${names
          .slice(0, 3)
          .map((name) => `"${name}"`)
          .join(', ')}, which this endpoint does not read.`
      : fields.has(field)
        ? ` The field "${field}" has text instead of a file; curl sends a file with -F ${field}=@NAME.`
        : '';
  const details = { field, received_files: 0, ...(names.length === 0 ? {} : { file_fields: names.slice(0, 10) }) };
  return new Failure('NO_FILE', { says: `The request has no file: send ${amount} in the field "${field}".${hint}`, details });
}

export function noForm(type: string | undefined, field = 'file'): Failure {
  const came = type === undefined ? 'has no content type' : `has the content type "${type.slice(0, 100)}"`;
  const says = `The request has no file: it ${came}. Send multipart/form-data with its boundary, and the file in the field "${field}".`;
  return new Failure('NO_FILE', { says, details: { field, content_type: type?.slice(0, 100) ?? null } });
}

export const tooLong = (maxBytes: number): Failure =>
  new Failure('BAD_REQUEST', { says: `A form field is longer than ${maxBytes} bytes.` });

/** @param max characters of all its values */
export const listTooLong = (name: string, max: number): Failure =>
  new Failure('BAD_REQUEST', {
    says: `The values of the field "${name}" are longer than ${max} characters together.`,
    details: { field: name, max },
  });

export const sentTwice = (name: string): Failure =>
  new Failure('BAD_REQUEST', {
    says: `The form has the field "${shownName(name)}" more than once: send it once.`,
    details: { field: shownName(name) },
  });

/** A field's name from the client, as an answer shows it. */
const shownName = (name: string): string => name.replace(/[^\w.[\]-]/g, '?').slice(0, 50);

/** The refusal of too many files, for routes that take several. */
export function tooManyFiles(max: number, count: number): Failure | undefined {
  if (max < 2 || count <= max) return undefined;
  const says = `At most ${max} files may be sent at once; ${count} were sent.`;
  return new Failure('BATCH_TOO_LARGE', { says, details: { max_files: max, received_files: count } });
}

export const tooMany = (what: string, max: number): Failure =>
  new Failure('BAD_REQUEST', { says: `The form has more than ${max} ${what}.`, details: { limit: what, max } });
