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
import { type Counted, listTooLong, noForm, sentTwice, tooLong, tooMany, tooManyFiles } from './refusals.ts';
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
/** Fields that may come several times: their values are kept in the order sent, a line each. One value may be several lines, too. */
export const LISTS: ReadonlySet<string> = new Set(['urls[]', 'urls', 'upload_ids[]', 'upload_ids']);
/** The target: it may come several times where several files may. */
export const TARGET = 'to_format';

/** Where the job is sent at its end, and the secret with which that message is signed. */
export const WEBHOOK_URL = 'webhook_url';
export const WEBHOOK_SECRET = 'webhook_secret';

/** Where the result is stored by PUT, and the headers of that request as a JSON object. */
export const OUTPUT_URL = 'output_url';
export const OUTPUT_HEADERS = 'output_headers';
/** How an S3 store is used that `s3://bucket/key` names, as a JSON object. */
export const S3 = 's3';

/** A file in any of these is taken by a route that takes files: clients write `files[0]` for a list of one. */
const FILE_FIELD = /^files?(\[\d{0,4}\])?$/;
const isFileField = (name: string, { fields }: Pick<ReceiveOptions, 'fields'>): boolean =>
  fields.includes(name) || (fields.some((field) => FILE_FIELD.test(field)) && FILE_FIELD.test(name));
/** Text fields of every route that takes files. */
const TEXTS = new Set([TARGET, 'from_format', 'url', 'upload_id', WEBHOOK_URL, WEBHOOK_SECRET, OUTPUT_URL, OUTPUT_HEADERS, S3, ...LISTS]);

export interface ReceivedFile {
  /** Its number in the form, which it is stored by. */
  readonly part: number;
  readonly filename: string;
  readonly sizeBytes: number;
  /** Lower-case hex; empty where the request has no `Idempotency-Key`. */
  readonly sha256: string;
  readonly sample: Sample;
  /** The media type that the client declared, if any. */
  readonly declaredType?: string | undefined;
}

export interface Received extends Counted {
  /** In the order sent, or in that of their fields (`inOrder`). */
  readonly files: readonly ReceivedFile[];
}

/** Fields and part headers around the file, bytes. */
const ENVELOPE_BYTES = 1 << 20;
const LIMITS = {
  fieldNameSize: 200,
  fieldSize: 64 * 1024,
  fields: 100,
  // They are counted up to here, so that a refusal can give their number.
  files: 1_000,
  parts: 1_200,
  headerPairs: 50,
  headerSize: 16 * 1024,
};
/** Values of a list. */
export const MOST_LINES = 1_000;
/** Length of all values of a list, characters: more than as many URLs of usual length as a batch may have. */
const LIST_CHARACTERS = 256 * 1024;
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
  const form = new FormReader(request, wanted, objects);
  const unsubscribe = watchPace(request, settings, form.refuse);
  try {
    await form.read();
    return await form.received();
  } catch (error) {
    await form.undo();
    throw error;
  } finally {
    unsubscribe();
  }
}

/** A form as it arrives. What refuses it ends its reading, and the storing of its files, at once. */
class FormReader {
  readonly #request: IncomingMessage;
  readonly #wanted: ReceiveOptions;
  readonly #objects: ObjectStore;
  readonly #mostBytes: number;

  readonly #blocks = new Coalesce();
  readonly #turns = new PartTurns();
  readonly #form: InstanceType<typeof Busboy>;
  readonly #failed = new AbortController();
  /** The whole body was read: fields may follow the files. */
  readonly #finished = Promise.withResolvers<void>();

  readonly #fields = new Map<string, string>();
  readonly #files: Promise<ReceivedFile>[] = [];
  /** For each file, the field that it was sent in. */
  readonly #ranks: number[] = [];
  readonly #strays: string[] = [];
  #count = 0;
  #bodyBytes = 0;

  /** @throws Failure if the head of the request says enough */
  constructor(request: IncomingMessage, wanted: ReceiveOptions, objects: ObjectStore) {
    const type = request.headers['content-type'];
    if (!/^multipart\/form-data\s*;.*boundary=/i.test(type ?? '')) throw noForm(type, wanted.fields[0]);
    this.#mostBytes = wanted.maxBytes * wanted.maxFiles + ENVELOPE_BYTES;
    const declared = Number(request.headers['content-length'] ?? 0);
    if (declared > this.#mostBytes) throw fileTooLarge(wanted.maxBytes, declared);
    this.#request = request;
    this.#wanted = wanted;
    this.#objects = objects;
    this.#form = openForm(request.headers as BusboyHeaders);
    this.#finished.promise.catch(() => {});
  }

  readonly refuse = (failure: unknown): void => {
    // At once: one network read may hold thousands of parts, which would be handled before the error event.
    this.#request.unpipe(this.#blocks);
    this.#turns.unpipe(this.#form);
    this.#failed.abort(failure);
    // A whole file waits for the fields behind it, which will not come.
    this.#finished.reject(failure);
  };

  /** Resolves at the end of the body, when files may still be stored. */
  read(): Promise<void> {
    return new Promise((resolve, reject) => {
      onAbort(this.#failed.signal, reject);
      this.#form.on('finish', resolve).on('finish', this.#finished.resolve).on('error', this.#malformed);
      this.#boundParts();
      this.#form.on('field', this.#takeField).on('file', this.#takePart);
      this.#blocks.on('data', this.#boundBody);
      this.#request.on('close', () => {
        if (!this.#request.complete) this.#malformed(new Error('the client went away'));
      });
      askForBody(this.#request);
      this.#request.pipe(this.#blocks).pipe(this.#turns).pipe(this.#form);
    });
  }

  /** What was sent, once all of it is stored. */
  async received(): Promise<Received> {
    const all = await Promise.all(this.#files);
    // Browsers send this for a file field that was left empty.
    const unchosen = all.filter(({ filename, sizeBytes }) => filename === '' && sizeBytes === 0);
    await Promise.all(unchosen.map(({ part }) => this.#objects.delete(this.#wanted.keyOf(part))));
    const files = all.filter((file) => !unchosen.includes(file));
    if (this.#wanted.inOrder) files.sort((a, b) => (this.#ranks[a.part] ?? 0) - (this.#ranks[b.part] ?? 0));
    // A file beyond `maxFiles` was discarded: it must not pass for one that was sent and is there.
    const count = this.#count > this.#wanted.maxFiles ? this.#count : this.#count - unchosen.length;
    return { fields: this.#fields, files, count, strays: this.#strays };
  }

  /** Ends the reading, and removes what was stored. */
  async undo(): Promise<void> {
    this.#turns.unpipe(this.#form);
    this.#blocks.destroy();
    this.#turns.destroy();
    await Promise.allSettled(this.#files);
    await removeAfterFailure(
      this.#objects,
      this.#files.map((_, index) => this.#wanted.keyOf(index)),
    );
  }

  readonly #malformed = (cause: unknown): void =>
    this.refuse(
      new Failure('NO_FILE', { says: 'The multipart body is malformed or incomplete: it does not contain a complete file.', cause }),
    );

  readonly #boundBody = (block: Buffer): void => {
    this.#bodyBytes += block.length;
    if (this.#bodyBytes > this.#mostBytes) this.refuse(fileTooLarge(this.#wanted.maxBytes, this.#bodyBytes));
  };

  #boundParts(): void {
    const { maxFiles } = this.#wanted;
    this.#form
      .on('partsLimit', () => this.refuse(tooManyFiles(maxFiles, this.#count) ?? tooMany('parts', LIMITS.parts)))
      .on('fieldsLimit', () => this.refuse(tooManyFiles(maxFiles, listedIn(this.#fields)) ?? tooMany('fields', LIMITS.fields)))
      .on('filesLimit', () => this.refuse(tooManyFiles(maxFiles, this.#count) ?? tooMany('files', LIMITS.files)));
  }

  readonly #takeField = (name: string | undefined, value: string, nameTruncated: boolean, valueTruncated: boolean): void => {
    if (nameTruncated || valueTruncated) this.refuse(tooLong(LIMITS.fieldSize));
    // A part without a name is ignored.
    else if (name !== undefined) this.#keepField(name, value);
  };

  #keepField(name: string, value: string): void {
    const before = this.#fields.get(name) ?? '';
    const isSent = before !== '';
    if (LISTS.has(name) || (name === TARGET && this.#wanted.maxFiles > 1)) this.#keepInList(name, isSent ? `${before}\n${value}` : value);
    // An empty field counts as not sent.
    else if (value === '' && isSent) return;
    else if (isSent && !name.endsWith('[]')) this.refuse(sentTwice(name));
    else this.#fields.set(name, value);
  }

  /** One turn of the event loop takes the list apart. */
  #keepInList(name: string, lines: string): void {
    if (lines.length > LIST_CHARACTERS) this.refuse(listTooLong(name, LIST_CHARACTERS));
    else this.#fields.set(name, lines);
  }

  readonly #takePart = (
    name: string | undefined,
    stream: Readable,
    filename: string | undefined,
    _encoding: string,
    declaredType?: string,
  ): void => {
    if (name === undefined || !isFileField(name, this.#wanted)) this.#takeStray(name, stream);
    else if (++this.#count > this.#wanted.maxFiles) stream.resume();
    else this.#takeFile(name, stream, filename ?? '', declaredType);
  };

  #takeFile(name: string, stream: Readable, filename: string, declaredType: string | undefined): void {
    this.#ranks.push(Math.max(0, this.#wanted.fields.indexOf(name)));
    const part = { part: this.#files.length, filename: unescaped(shortened(filename)), declaredType };
    const file = this.#store(stream, part);
    file.catch(this.refuse);
    this.#files.push(file);
  }

  /** A text field that came as a file is one all the same; what nothing here knows is ignored. */
  #takeStray(name: string | undefined, stream: Readable): void {
    if (name !== undefined && (TEXTS.has(name) || isOption(name) || this.#wanted.isText?.(name)))
      readField(stream, (value) => this.#keepField(name, value), this.refuse);
    else {
      if (this.#strays.push(name ?? '') > MOST_STRANGERS) this.refuse(tooMany('files', MOST_STRANGERS));
      stream.resume();
    }
  }

  /** When the form breaks off, the file fails too, or the store would wait for ever. */
  async #store(stream: Readable, part: Pick<ReceivedFile, 'part' | 'filename' | 'declaredType'>): Promise<ReceivedFile> {
    const { keyOf, maxBytes, maxFiles, check } = this.#wanted;
    const checkSample = async (sample: Sample, isWhole: boolean) => {
      if (isWhole) await this.#finished.promise;
      if (sample.size > 0) await check?.({ fields: this.#fields, filename: part.filename, sample, isWhole });
    };
    try {
      const stored = await storeSampled(stream, keyOf(part.part), this.#objects, maxBytes, this.#failed.signal, {
        check: check && checkSample,
        // Only requests with a key are compared.
        digest: this.#request.headers['idempotency-key'] !== undefined,
      });
      return { ...part, ...stored };
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error;
      throw fileTooLarge(maxBytes, error.receivedBytes, maxFiles > 1 ? cleanName(part.filename) : undefined);
    }
  }
}

/** Reads a text field that came as a file part; a file of text ends with a line break. */
function readField(stream: Readable, keep: (value: string) => void, refuse: (failure: unknown) => void): void {
  const kept: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= LIMITS.fieldSize) kept.push(chunk);
    else refuse(tooLong(LIMITS.fieldSize));
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

function openForm(headers: BusboyHeaders): InstanceType<typeof Busboy> {
  try {
    return new Busboy({ headers, limits: LIMITS, preservePath: true, defCharset: 'utf8' });
  } catch (cause) {
    throw new Failure('NO_FILE', { says: 'The multipart body is malformed.', cause });
  }
}

/** How many files a form names instead of sending them. */
const listedIn = (fields: ReadonlyMap<string, string>): number =>
  Math.max(...[...LISTS].map((name) => (fields.has(name) ? linesOf(fields.get(name) ?? '').length : 0)));

/** The values of a list; of more than `MOST_LINES`, the first of them and one more. */
export const linesOf = (list: string): readonly string[] => list.split('\n', MOST_LINES + 1);
