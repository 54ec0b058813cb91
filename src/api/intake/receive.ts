/** Reads a multipart form (RFC 7578): fields into a map, files straight into the object store. */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import { cleanName } from '../../catalog/names.ts';
import type { Sample } from '../../catalog/sniff/sample.ts';
import { Failure, fileTooLarge } from '../../errors.ts';
import { type ObjectStore, TooLarge } from '../../objects/store.ts';
import { onAbort } from '../../streams/abort.ts';
import { Coalesce } from '../../streams/coalesce.ts';
import type { Seen } from '../admission/capacity.ts';
import { askForBody } from '../http/expect.ts';
import { watchPace } from '../http/pace.ts';
import type { ApiSettings } from '../settings.ts';
import { removeAfterFailure } from './inputs.ts';
import { storeSampled } from './store-sampled.ts';

/** What a route accepts. Further files are counted and discarded: the route decides what that means. */
export interface Wanted {
  /** The names that file parts may have; parts of other names are ignored. */
  readonly fields: readonly string[];
  readonly maxFiles: number;
  /** Of one file. */
  readonly maxBytes: number;
  /** Where the file with this number, from 0 on, is stored. */
  readonly keyOf: (index: number) => string;
  /** Checks each file before it is stored; where it throws, the file is not stored. */
  readonly check?: ((seen: Seen) => Promise<void>) | undefined;
}

export const ONE_FILE: readonly string[] = ['file'];
export const SEVERAL_FILES: readonly string[] = ['files[]', 'files'];
/** Fields that may come several times: their values are kept in the order sent, a line each, as none of them may hold a line break. */
const LISTS = new Set(['urls[]', 'urls', 'upload_ids[]', 'upload_ids']);

/** Every key that a file of the request may have been stored under. */
export const keysOf = ({ maxFiles, keyOf }: Pick<Wanted, 'maxFiles' | 'keyOf'>): readonly string[] =>
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
}

/** Fields and part headers around the file, bytes. */
const ENVELOPE_BYTES = 1 << 20;
const LIMITS = { fieldNameSize: 200, fieldSize: 64 * 1024, fields: 100, parts: 1_200, headerPairs: 50, headerSize: 16 * 1024 };
/** Files are counted up to here, so that a refusal can give their number. */
const MOST_COUNTED = 1_000;
/** Files in fields that the route does not know. */
const MOST_STRANGERS = 80;
/** Of a file's name, characters: more than any file system takes. */
const NAME_CHARACTERS = 1_000;

/** @throws Failure `NO_FILE`, `FILE_TOO_LARGE`, `BAD_REQUEST`, `BODY_TIMEOUT`; then nothing is stored */
export async function receive(request: IncomingMessage, wanted: Wanted, objects: ObjectStore, settings: ApiSettings): Promise<Received> {
  const { maxBytes, maxFiles, keyOf, check } = wanted;
  if (!/^multipart\/form-data\s*;.*boundary=/i.test(request.headers['content-type'] ?? ''))
    throw new Failure('NO_FILE', {
      says: `The request has no file: send it as multipart/form-data in the field "${wanted.fields[0] ?? 'file'}".`,
    });
  const mostBytes = maxBytes * maxFiles + ENVELOPE_BYTES;
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > mostBytes) throw fileTooLarge(maxBytes, declared);

  const failed = new AbortController();
  const fields = new Map<string, string>();
  /** The whole body was read: fields may follow the files. */
  const finished = Promise.withResolvers<void>();
  const files: Promise<ReceivedFile>[] = [];
  let [count, strangers] = [0, 0];
  const limits = { ...LIMITS, files: MOST_COUNTED };
  const form = openForm(request.headers as BusboyHeaders, limits);
  const blocks = new Coalesce();
  const refuse = (failure: unknown) => {
    // At once: one network read may hold thousands of parts, which would be handled before the error event.
    request.unpipe(blocks);
    failed.abort(failure);
  };
  const unsubscribe = watchPace(request, settings, refuse);
  const malformed = (cause: unknown) =>
    refuse(new Failure('NO_FILE', { says: 'The multipart body is malformed or incomplete: there is no whole file in it.', cause }));
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
      if (name === undefined) return;
      const before = LISTS.has(name) ? fields.get(name) : undefined;
      fields.set(name, before === undefined ? value : `${before}\n${value}`);
    });
    form.on(
      'file',
      (name: string | undefined, stream: Readable, filename: string | undefined, _encoding: string, declaredType?: string) => {
        if (name === undefined || !wanted.fields.includes(name)) {
          if (++strangers > MOST_STRANGERS) refuse(tooMany('files', MOST_STRANGERS));
          return void stream.resume();
        }
        if (++count > maxFiles) return void stream.resume();
        // When the form breaks off, the file must fail too, or the store would wait for ever.
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
    request.pipe(blocks).pipe(form);
  });

  try {
    await ended;
    const all = await Promise.all(files);
    // Browsers send this for a file field that was left empty.
    const unchosen = all.filter(({ filename, sizeBytes }) => filename === '' && sizeBytes === 0);
    await Promise.all(unchosen.map(({ part }) => objects.delete(keyOf(part))));
    return { fields, files: all.filter((file) => !unchosen.includes(file)), count: count - unchosen.length };
  } catch (error) {
    blocks.unpipe(form);
    blocks.destroy();
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
export function onlyFile({ files: [file], count }: Received): ReceivedFile {
  if (count > 1) throw new Failure('BAD_REQUEST', { says: 'The form has more than one file in the field "file": send one.' });
  if (file === undefined) throw new Failure('NO_FILE');
  if (file.sizeBytes === 0) throw new Failure('NO_FILE', { says: 'The file is empty.' });
  return file;
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
