/** Reads a multipart form (RFC 7578): fields into a map, the one file straight into the object store. */
import type { IncomingMessage } from 'node:http';
import { type Readable, Transform } from 'node:stream';
import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import { type Sample, Sampler } from '../catalog/sniff/sample.ts';
import { Failure } from '../errors.ts';
import { type ObjectStore, TooLarge } from '../objects/store.ts';
import { askForBody } from './expect.ts';
import { watchPace } from './pace.ts';
import type { ApiSettings } from './settings.ts';

export interface Received {
  readonly fields: ReadonlyMap<string, string>;
  readonly filename: string;
  readonly sizeBytes: number;
  readonly sample: Sample;
}

/** Fields and part headers around the file, bytes. */
const ENVELOPE_BYTES = 1 << 20;
const LIMITS = { fieldNameSize: 200, fieldSize: 64 * 1024, fields: 100, files: 20, parts: 120, headerPairs: 50 };

/** @throws Failure `NO_FILE`, `FILE_TOO_LARGE`, `BAD_REQUEST`, `BODY_TIMEOUT`, `OVERLOADED`; then nothing is stored under `key` */
export async function receive(request: IncomingMessage, key: string, objects: ObjectStore, settings: ApiSettings): Promise<Received> {
  const { maxFileBytes } = settings;
  const tooLarge = (received: number) =>
    new Failure('FILE_TOO_LARGE', {
      says: `The file is larger than ${maxFileBytes} bytes, the most that this service accepts.`,
      details: { max_bytes: maxFileBytes, received_bytes: received },
    });
  if (!/^multipart\/form-data\s*;.*boundary=/i.test(request.headers['content-type'] ?? '')) throw new Failure('NO_FILE');
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > maxFileBytes + ENVELOPE_BYTES) throw tooLarge(declared);

  const failed = new AbortController();
  const fields = new Map<string, string>();
  let file: Promise<Omit<Received, 'fields'>> | undefined;
  const form = openForm(request.headers as BusboyHeaders);
  const unwatch = watchPace(request, settings, () => failed.abort(new Failure('BODY_TIMEOUT')));
  const refuse = (failure: unknown) => failed.abort(failure);
  const malformed = (cause: unknown) =>
    refuse(new Failure('NO_FILE', { says: 'The multipart body is malformed or incomplete: there is no whole file in it.', cause }));
  let bodyBytes = 0;

  const ended = new Promise<void>((resolve, reject) => {
    failed.signal.addEventListener('abort', () => reject(failed.signal.reason), { once: true });
    form.on('finish', resolve).on('error', malformed);
    form
      .on('partsLimit', () => refuse(tooMany('parts', LIMITS.parts)))
      .on('fieldsLimit', () => refuse(tooMany('fields', LIMITS.fields)))
      .on('filesLimit', () => refuse(tooMany('files', LIMITS.files)));
    form.on('field', (name: string | undefined, value, nameTruncated, valueTruncated) => {
      if (nameTruncated || valueTruncated)
        return refuse(new Failure('BAD_REQUEST', { says: `A form field is longer than ${LIMITS.fieldSize} bytes.` }));
      // A part that has no name is nobody's field.
      if (name !== undefined) fields.set(name, value);
    });
    form.on('file', (name: string | undefined, stream: Readable, filename: string | undefined) => {
      if (name !== 'file') return void stream.resume();
      if (file !== undefined)
        return refuse(new Failure('BAD_REQUEST', { says: 'The form has more than one file in the field "file": send one.' }));
      // When the form breaks off, so does the file: the store must hear of it, or it would wait for ever.
      file = store(stream, unescaped(filename ?? ''), key, objects, maxFileBytes, failed.signal).catch((error: unknown) => {
        throw error instanceof TooLarge ? tooLarge(error.receivedBytes) : error;
      });
      file.catch(refuse);
    });
    request.on('data', (chunk: Buffer) => {
      bodyBytes += chunk.length;
      if (bodyBytes > maxFileBytes + ENVELOPE_BYTES) refuse(tooLarge(bodyBytes));
    });
    request.on('close', () => {
      if (!request.complete) malformed(new Error('the client went away'));
    });
    askForBody(request);
    request.pipe(form);
  });

  try {
    await ended;
    if (file === undefined) throw new Failure('NO_FILE');
    const stored = await file;
    if (stored.sizeBytes === 0) throw new Failure('NO_FILE', { says: 'The file is empty.' });
    return { fields, ...stored };
  } catch (error) {
    request.unpipe(form);
    await file?.catch(() => undefined);
    await objects.delete(key);
    throw error;
  } finally {
    unwatch();
  }
}

async function store(
  stream: Readable,
  filename: string,
  key: string,
  objects: ObjectStore,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Omit<Received, 'fields'>> {
  const sampler = new Sampler();
  const sampling = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sampler.push(chunk);
      done(null, chunk);
    },
  });
  stream.on('error', (error) => sampling.destroy(error));
  const { sizeBytes } = await objects.put(key, stream.pipe(sampling), maxBytes, signal);
  return { filename, sizeBytes, sample: sampler.sample() };
}

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

const tooMany = (what: string, max: number): Failure =>
  new Failure('BAD_REQUEST', { says: `The form has more than ${max} ${what}.`, details: { limit: what, max } });
