/** Reads a call's `file` argument: a URL, an upload id, or the content itself. */
import { setImmediate } from 'node:timers/promises';
import { formats } from '../../../catalog/formats.ts';
import { uploadIdPattern } from '../../../contracts/api/upload.ts';
import { Failure, fileTooLarge } from '../../../errors.ts';
import { jobOfOutput } from '../../http/own-outputs.ts';
import { pathIn, uploadAdvice } from './paths.ts';
import { visible } from './quote.ts';
import { isProse, kindOfText, type TextClues } from './text-kind.ts';

export type FileArgument =
  | { readonly is: 'url'; readonly url: string }
  | { readonly is: 'upload'; readonly id: string }
  /** The output of a job of this service. */
  | { readonly is: 'output'; readonly job: string }
  /** A web page, to be rendered. */
  | { readonly is: 'page'; readonly url: string }
  | { readonly is: 'content'; readonly bytes: Buffer; readonly name: string; readonly assumed?: string | undefined };

interface Limits {
  /** The base of this service's URLs. */
  readonly base: string;
  /** How many bytes of content this call may still hold. */
  readonly maxInlineBytes: number;
  /** What the call says about its file: where it shows the kind of a text, the text itself is taken. */
  readonly about?: TextClues;
}

/** Characters of which it is seen whether they are a URL. */
const MAX_URL_CHARACTERS = 8_192;

/** @throws Failure `NO_FILE`, `BAD_REQUEST`, `FILE_TOO_LARGE`, `URL_REFUSED` */
export async function readFileArgument(sent: string, { base, maxInlineBytes, about = {} }: Limits): Promise<FileArgument> {
  const text = sent.trim();
  if (text === '') throw new Failure('NO_FILE', { says: 'The file is empty.' });
  const path = pathIn(text);
  if (path !== undefined) throw refusedPath(text, path, base);
  if (text.length < 100 && uploadIdPattern.test(text)) return { is: 'upload', id: text };
  if (/^data:/i.test(text.slice(0, 5))) return dataUri(text, maxInlineBytes, base);
  if (isUrl(text)) return ownOutput(text, base) ?? { is: 'url', url: text };
  if (isProse(text)) return literal(sent, about, maxInlineBytes, base);
  return { is: 'content', bytes: await base64(text, maxInlineBytes, base), name: '' };
}

/** A space in the URL of a web server was not escaped; after any other word with a colon, it makes the text prose. */
function isUrl(text: string): boolean {
  const start = text.slice(0, MAX_URL_CHARACTERS);
  return /^https?:\/\/[^\n]*$/i.test(start) || (/^[a-z][a-z0-9+.-]{0,40}:\S/i.test(start.slice(0, 50)) && !/\s/.test(start));
}

/** Our own URLs are never fetched: an output is read from the store, and any other is refused. */
function ownOutput(text: string, base: string): FileArgument | undefined {
  const job = jobOfOutput(text, base);
  return job === undefined ? undefined : { is: 'output', job };
}

/** RFC 2397: base64, or octets as they are; in both, some may be escaped. */
async function dataUri(text: string, most: number, base: string): Promise<FileArgument> {
  const comma = text.slice(0, 1_000).indexOf(',');
  if (comma < 0) throw notRead(base);
  const [type = '', ...rest] = text.slice('data:'.length, comma).toLowerCase().split(';');
  const extension = [...formats.values()].find(({ mime }) => mime === type.trim())?.id;
  const name = extension === undefined ? '' : `file.${extension}`;
  const content = text.slice(comma + 1);
  if (!rest.some((word) => word.trim() === 'base64')) return { is: 'content', bytes: await unescaped(content, most, base), name };
  // Escapes in base64 are three characters for one: what is left is checked by its own length.
  const plain = content.includes('%') ? (await unescaped(content, content.length, base)).toString('latin1') : content;
  return { is: 'content', bytes: await base64(plain, most, base), name };
}

/** Characters that are decoded before other requests get a turn. */
const SLICE = 1 << 20;

/** A text in place of a file, where it is plain what it is. @throws Failure `BAD_REQUEST`, `FILE_TOO_LARGE` */
function literal(text: string, about: TextClues, most: number, base: string): FileArgument {
  const kind = kindOfText(text, about);
  if (kind === undefined) throw unknownText();
  const size = Buffer.byteLength(text);
  if (size > most) throw tooLarge(most, size, base);
  return {
    is: 'content',
    bytes: Buffer.from(text),
    name: kind.named ? '' : `text.${kind.format}`,
    ...(kind.named ? {} : { assumed: kind.format }),
  };
}

/** RFC 4648 §4 and §5, with or without padding; ASCII white space is ignored. */
async function base64(text: string, most: number, base: string): Promise<Buffer> {
  const decoded = Buffer.allocUnsafeSlow(Math.min(most, Math.ceil(text.length / 4) * 3));
  let size = 0;
  // Up to four characters, which may hold the padding: they decide whether the text is valid.
  let left = '';
  for (let at = 0; at < text.length; at += SLICE) {
    if (at > 0) await setImmediate();
    const slice = text.slice(at, at + SLICE);
    const dense = left + (/[\t\n\f\r ]/.test(slice) ? slice.replace(/[\t\n\f\r ]/g, '') : slice);
    // Whole groups, but the last: only it may end with padding.
    const whole = Math.max(0, Math.floor((dense.length - 1) / 4) * 4);
    left = dense.slice(whole);
    // Searches for an invalid character: matching all valid ones would keep a backtracking position for each.
    if (/[^A-Za-z0-9+/_-]/.test(dense.slice(0, whole))) throw notRead(base);
    if (size + (whole / 4) * 3 > most) throw tooLarge(most, sizeOf(text), base);
    size += decoded.write(dense.slice(0, whole), size, 'base64');
  }
  if (!/^[A-Za-z0-9+/_-]{2}(?:[A-Za-z0-9+/_-]{0,2}|[A-Za-z0-9+/_-]=|==)$/.test(left)) throw notRead(base);
  const last = Buffer.from(left, 'base64');
  if (size + last.length > most) throw tooLarge(most, size + last.length, base);
  size += last.copy(decoded, size);
  return decoded.subarray(0, size);
}

/** Bytes that base64 of this length decodes to, white space aside. */
const sizeOf = (text: string): number => Math.floor((text.length / 4) * 3) - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);

const PERCENT = 0x25;
/** By character code: the value of a hex digit, -1 of everything else. */
const HEX = Int8Array.from({ length: 256 }, (_, code) => '0123456789abcdef'.indexOf(String.fromCharCode(code).toLowerCase()));

/** RFC 3986 §2.1; a sign that begins no escape stands for itself. @throws Failure `FILE_TOO_LARGE` */
async function unescaped(text: string, most: number, base: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for (let at = 0; at < text.length; ) {
    if (at > 0) await setImmediate();
    const end = endOfSlice(text, at + SLICE);
    const piece = unescapeIn(Buffer.from(text.slice(at, end)));
    at = end;
    size += piece.length;
    if (size > most) throw tooLarge(most, size, base);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** No escape is cut in two, and no character beyond U+FFFF. */
function endOfSlice(text: string, end: number): number {
  if (end >= text.length) return text.length;
  const sign = text.slice(end - 2, end).indexOf('%');
  if (sign >= 0) return end - 2 + sign;
  const isSurrogate = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isSurrogate ? end - 1 : end;
}

/** In place. */
function unescapeIn(bytes: Buffer): Buffer {
  if (!bytes.includes(PERCENT)) return bytes;
  let size = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    const high = byte === PERCENT ? (HEX[bytes[at + 1] ?? 0] ?? -1) : -1;
    const low = high < 0 ? -1 : (HEX[bytes[at + 2] ?? 0] ?? -1);
    bytes[size++] = low < 0 ? byte : high * 16 + low;
    if (low >= 0) at += 2;
  }
  return bytes.subarray(0, size);
}

const notRead = (base: string): Failure =>
  new Failure('BAD_REQUEST', {
    says: `The file is neither an https URL, nor an upload id, nor complete base64 (RFC 4648). This server cannot read a local path: ${uploadAdvice(base)}`,
  });

const unknownText = (): Failure =>
  new Failure('BAD_REQUEST', {
    says: 'The file is text, and its format cannot be detected. Pass "filename" with its extension, such as notes.md, or "from_format"; or send it as a data: URI, such as data:text/csv,name%2Csize.',
  });

function tooLarge(most: number, received: number, base: string): Failure {
  return fileTooLarge(most, received).with({
    says: `The files in one call may have at most ${most} bytes in total: ${uploadAdvice(base)}`,
  });
}

/** A model gave what its user gave it. */
function refusedPath(sent: string, path: string, base: string): Failure {
  const isUrl = /^[a-z]{2,10}:/i.test(sent);
  const says = `${JSON.stringify(visible(sent.slice(0, 300)))} is a path, which this server cannot read: ${uploadAdvice(base, path)} Without access to the file, ask for a link to it, or send its content as base64.`;
  return isUrl ? new Failure('URL_REFUSED', { says, details: { reason: 'scheme' } }) : new Failure('BAD_REQUEST', { says });
}
