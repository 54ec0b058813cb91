/** Reads a multipart form (RFC 7578): fields into a map, files straight into the object store. */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import type { Sample } from '../../catalog/looks/sample.ts';
import { cleanName } from '../../catalog/names.ts';
import { isOption } from '../../catalog/options/options.ts';
import { Failure, fileTooLarge } from '../../errors.ts';
import { type ObjectStore, TooLarge } from '../../objects/store.ts';
import { onAbort } from '../../streams/abort.ts';
import { Coalesce } from '../../streams/coalesce.ts';
import { askForBody } from '../http/expect.ts';
import { watchPace } from '../http/pace.ts';
import type { ApiSettings } from '../settings.ts';
import { removeAfterFailure } from './inputs.ts';
import { PartTurns } from './part-turns.ts';
import { storeSampled } from './store-sampled.ts';

/** What is known so far of a file that is being received. */
export interface SeenFile {
  readonly fields: ReadonlyMap<string, string>;
  readonly filename: string;
  readonly sample: Sample;
  /** The whole file and all fields have been read. */
  readonly isWhole: boolean;
}

/** What a route accepts. Further files are counted and discarded: the route decides what that means. */
export interface ReceiveOptions {
  /** The names that file parts are to have. The usual other ones are taken as well, whichever of them the route names; further ones are ignored. */
  readonly fields: readonly string[];
  /** Files are returned in the order of their fields, not as they came. */
  readonly inOrder?: boolean | undefined;
  /** Further names of text fields, which some clients send as file parts. */
  readonly isText?: (name: string) => boolean;
  readonly maxFiles: number;
  /** Size of one file. */
  readonly maxBytes: number;
  /** Where the file with this number, from 0 on, is stored. */
  readonly keyOf: (index: number) => string;
  /** Checks each file before it is stored; where it throws, the file is not stored. */
  readonly check?: ((seen: SeenFile) => Promise<void>) | undefined;
}

export const FIELD_OF_ONE: readonly string[] = ['file'];
export const FIELDS_OF_SEVERAL: readonly string[] = ['files[]', 'files'];
/** Fields that may come several times: their values are kept in the order sent, a line each, as none of them may hold a line break. */
export const LISTS: ReadonlySet<string> = new Set(['urls[]', 'urls', 'upload_ids[]', 'upload_ids']);

/** A file in any of these is taken by a route that takes files: clients write `files[0]` for a list of one. */
const FILE_FIELD = /^files?(\[\d{0,4}\])?$/;
const isFileField = (name: string, { fields }: Pick<ReceiveOptions, 'fields'>): boolean =>
  fields.includes(name) || (fields.some((field) => FILE_FIELD.test(field)) && FILE_FIELD.test(name));
/** Text fields of every route that takes files. */
const TEXTS = new Set(['to_format', 'from_format', 'url', 'upload_id', ...LISTS]);

/** Every key that a file of the request may have been stored under. */
export const keysOf = ({ maxFiles, keyOf }: Pick<ReceiveOptions, 'maxFiles' | 'keyOf'>): readonly string[] =>
  Array.from({ length: maxFiles }, (_, part) => keyOf(part));

export interface ReceivedFile {
  /** Its number in the form, which it is stored by. */
  readonly part: number;
  readonly filename: string;
  readonly sizeBytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly sample: Sample;
  /** The media type that the client declared, if any. */
  readonly declaredType?: string | undefined;
}

export interface Received {
  readonly fields: ReadonlyMap<string, string>;
  /** In the order sent. */
  readonly files: readonly ReceivedFile[];
  /** How many were sent, those beyond `maxFiles` included. */
  readonly count: number;
  /** The names of file parts that were ignored. */
  readonly strays?: readonly string[];
  /** Size of a body that can have no file. */
  readonly contentType?: string | undefined;
}

/** Fields and part headers around the file, bytes. */
const ENVELOPE_BYTES = 1 << 20;
const LIMITS = { fieldNameSize: 200, fieldSize: 64 * 1024, fields: 100, parts: 1_200, headerPairs: 50, headerSize: 16 * 1024 };
/** Files are counted up to here, so that a refusal can give their number. */
const MOST_COUNTED = 1_000;
/** Files in fields that the route does not know. */
const MOST_STRANGERS = 80;
/** Length of a file's name, characters: more than any file system allows. */
const NAME_CHARACTERS = 1_000;

/** @throws Failure `NO_FILE`, `FILE_TOO_LARGE`, `BAD_REQUEST`, `BODY_TIMEOUT`; then nothing is stored */
export async function receive(
  request: IncomingMessage,
  wanted: ReceiveOptions,
  objects: ObjectStore,
  settings: ApiSettings,
): Promise<Received> {
  const { maxBytes, maxFiles, keyOf, check } = wanted;
  const type = request.headers['content-type'];
  if (!/^multipart\/form-data\s*;.*boundary=/i.test(type ?? '')) throw noForm(type, wanted.fields[0]);
  const mostBytes = maxBytes * maxFiles + ENVELOPE_BYTES;
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > mostBytes) throw fileTooLarge(maxBytes, declared);

  const failed = new AbortController();
  const fields = new Map<string, string>();
  /** The whole body was read: fields may follow the files. */
  const finished = Promise.withResolvers<void>();
  const files: Promise<ReceivedFile>[] = [];
  /** For each file, the field that it was sent in. */
  const ranks: number[] = [];
  let count = 0;
  const strays: string[] = [];
  const limits = { ...LIMITS, files: MOST_COUNTED };
  const form = openForm(request.headers as BusboyHeaders, limits);
  const blocks = new Coalesce();
  const turns = new PartTurns();
  const refuse = (failure: unknown) => {
    // At once: one network read may hold thousands of parts, which would be handled before the error event.
    request.unpipe(blocks);
    turns.unpipe(form);
    failed.abort(failure);
  };
  const keepField = (name: string, value: string) => {
    const before = fields.get(name) ?? '';
    if (LISTS.has(name)) return void fields.set(name, before === '' ? value : `${before}\n${value}`);
    // An empty field counts as not sent.
    if (value === '' && before !== '') return;
    if (before !== '' && !name.endsWith('[]')) return refuse(sentTwice(name));
    fields.set(name, value);
  };
  const unsubscribe = watchPace(request, settings, refuse);
  const malformed = (cause: unknown) =>
    refuse(new Failure('NO_FILE', { says: 'The multipart body is malformed or incomplete: it does not contain a complete file.', cause }));
  let bodyBytes = 0;

  const ended = new Promise<void>((resolve, reject) => {
    onAbort(failed.signal, reject);
    form.on('finish', resolve).on('finish', finished.resolve).on('error', malformed);
    form
      .on('partsLimit', () => refuse(tooManyFiles(maxFiles, count) ?? tooMany('parts', limits.parts)))
      .on('fieldsLimit', () => refuse(tooManyFiles(maxFiles, listedIn(fields)) ?? tooMany('fields', limits.fields)))
      .on('filesLimit', () => refuse(tooManyFiles(maxFiles, count) ?? tooMany('files', limits.files)));
    form.on('field', (name: string | undefined, value, nameTruncated, valueTruncated) => {
      if (nameTruncated || valueTruncated)
        return refuse(new Failure('BAD_REQUEST', { says: `A form field is longer than ${LIMITS.fieldSize} bytes.` }));
      // A part without a name is ignored.
      if (name !== undefined) keepField(name, value);
    });
    form.on(
      'file',
      (name: string | undefined, stream: Readable, filename: string | undefined, _encoding: string, declaredType?: string) => {
        if (name === undefined || !isFileField(name, wanted)) {
          if (strays.push(name ?? '') > MOST_STRANGERS) refuse(tooMany('files', MOST_STRANGERS));
          if (name === undefined || !(TEXTS.has(name) || isOption(name) || wanted.isText?.(name))) return void stream.resume();
          strays.pop();
          return readField(stream, (value) => keepField(name, value), refuse);
        }
        if (++count > maxFiles) return void stream.resume();
        // When the form breaks off, the file must fail too, or the store would wait for ever.
        ranks.push(Math.max(0, wanted.fields.indexOf(name)));
        const part = { part: files.length, filename: unescaped(shortened(filename ?? '')) };
        const checkSample = async (sample: Sample, isWhole: boolean) => {
          if (isWhole) await finished.promise;
          if (sample.size > 0) await check?.({ fields, filename: part.filename, sample, isWhole });
        };
        const stored = storeSampled(stream, keyOf(part.part), objects, maxBytes, failed.signal, check && checkSample);
        const file = stored.then(
          (written) => ({ ...part, ...written, declaredType }),
          (error: unknown) => {
            throw error instanceof TooLarge
              ? fileTooLarge(maxBytes, error.receivedBytes, maxFiles > 1 ? cleanName(part.filename) : undefined)
              : error;
          },
        );
        file.catch(refuse);
        files.push(file);
      },
    );
    blocks.on('data', (block: Buffer) => {
      bodyBytes += block.length;
      if (bodyBytes > mostBytes) refuse(fileTooLarge(maxBytes, bodyBytes));
    });
    request.on('close', () => {
      if (!request.complete) malformed(new Error('the client went away'));
    });
    askForBody(request);
    request.pipe(blocks).pipe(turns).pipe(form);
  });

  try {
    await ended;
    const all = await Promise.all(files);
    // Browsers send this for a file field that was left empty.
    const unchosen = all.filter(({ filename, sizeBytes }) => filename === '' && sizeBytes === 0);
    await Promise.all(unchosen.map(({ part }) => objects.delete(keyOf(part))));
    const chosen = all.filter((file) => !unchosen.includes(file));
    if (wanted.inOrder) chosen.sort((a, b) => (ranks[a.part] ?? 0) - (ranks[b.part] ?? 0));
    return { fields, files: chosen, count: count - unchosen.length, strays };
  } catch (error) {
    turns.unpipe(form);
    blocks.destroy();
    turns.destroy();
    await Promise.allSettled(files);
    await removeAfterFailure(
      objects,
      files.map((_, index) => keyOf(index)),
    );
    throw error;
  } finally {
    unsubscribe();
  }
}

/** @throws Failure `NO_FILE`, `BAD_REQUEST` */
export function onlyFile(received: Received): ReceivedFile {
  const {
    files: [file],
    count,
  } = received;
  if (count > 1) throw severalFiles(count);
  if (file === undefined) throw noFile(received, 'file');
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
export function noFile(
  { strays = [], fields, contentType }: Partial<Pick<Received, 'strays' | 'contentType'>> & Pick<Received, 'fields'>,
  field: string,
  amount = 'one',
): Failure {
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

function noForm(type: string | undefined, field = 'file'): Failure {
  const came = type === undefined ? 'has no content type' : `has the content type "${type.slice(0, 100)}"`;
  const says = `The request has no file: it ${came}. Send multipart/form-data with its boundary, and the file in the field "${field}".`;
  return new Failure('NO_FILE', { says, details: { field, content_type: type?.slice(0, 100) ?? null } });
}

const sentTwice = (name: string): Failure =>
  new Failure('BAD_REQUEST', {
    says: `The form has the field "${shownName(name)}" more than once: send it once.`,
    details: { field: shownName(name) },
  });

/** A field's name from the client, as an answer shows it. */
const shownName = (name: string): string => name.replace(/[^\w.[\]-]/g, '?').slice(0, 50);

/** Reads a text field that came as a file part; a file of text ends with a line break. */
function readField(stream: Readable, keep: (value: string) => void, refuse: (failure: unknown) => void): void {
  const kept: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= LIMITS.fieldSize) kept.push(chunk);
    else refuse(new Failure('BAD_REQUEST', { says: `A form field is longer than ${LIMITS.fieldSize} bytes.` }));
  });
  stream.on('error', refuse).on('end', () =>
    keep(
      Buffer.concat(kept)
        .toString('utf8')
        .replace(/\r?\n$/, ''),
    ),
  );
}

/** Keeps the beginning, which results are named after, and the end, whose extension distinguishes kinds of text. */
const shortened = (filename: string): string =>
  filename.length <= NAME_CHARACTERS ? filename : `${filename.slice(0, NAME_CHARACTERS - 100)}${filename.slice(-100)}`;

/** How browsers write a quote and line breaks in a name (HTML standard, "multipart/form-data encoding algorithm"). */
const unescaped = (filename: string): string =>
  filename.replace(/%(22|0D|0A)/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

function openForm(headers: BusboyHeaders, limits: typeof LIMITS & { files: number }): InstanceType<typeof Busboy> {
  try {
    return new Busboy({ headers, limits, preservePath: true, defCharset: 'utf8' });
  } catch (cause) {
    throw new Failure('NO_FILE', { says: 'The multipart body is malformed.', cause });
  }
}

/** How many files a form names instead of sending them. */
const listedIn = (fields: ReadonlyMap<string, string>): number =>
  Math.max(...[...LISTS].map((name) => (fields.has(name) ? (fields.get(name) ?? '').split('\n').length : 0)));

/** The refusal of too many files, for routes that take several. */
export function tooManyFiles(max: number, count: number): Failure | undefined {
  if (max < 2 || count <= max) return undefined;
  const says = `At most ${max} files may be sent at once; ${count} were sent.`;
  return new Failure('BATCH_TOO_LARGE', { says, details: { max_files: max, received_files: count } });
}

const tooMany = (what: string, max: number): Failure =>
  new Failure('BAD_REQUEST', { says: `The form has more than ${max} ${what}.`, details: { limit: what, max } });
