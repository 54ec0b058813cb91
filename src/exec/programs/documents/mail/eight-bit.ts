/** Bytes beyond ASCII in headers, and in texts that do not name their encoding (RFC 5322 and RFC 2046 allow neither), as UTF-8. */
import { isUtf8 } from 'node:buffer';
import { decodeText } from '../../text/charset.ts';

interface EightBit {
  readonly bytes: Buffer;
  /** The encoding that those bytes look like; undefined where nothing was guessed. */
  readonly guessed?: string;
}

/** Bytes by which the encoding is guessed. */
const LOOKED_AT = 64 << 10;
const NEWLINE = 0x0a;
const DASH = 0x2d;
/** Characters of a header block that are looked at. */
const LONGEST_HEAD = 64 << 10;
/** Bytes of a line that ends a header block or stands between parts: a boundary has at most 70 (RFC 2046, 5.1.1), and some programs exceed that. */
const LONGEST_LIMIT = 998;

export function inUtf8(bytes: Buffer): EightBit {
  if (isUtf8(bytes)) return { bytes };
  const lines = [...linesWithoutEncoding(bytes)];
  if (lines.length === 0) return { bytes };
  const { guessed } = decodeText(joinedUpTo(LOOKED_AT, bytes, lines), []);
  if (guessed === undefined) return { bytes };
  const pieces: Buffer[] = [];
  let done = 0;
  for (const [start, end] of lines) {
    pieces.push(bytes.subarray(done, start), Buffer.from(decodeText(bytes.subarray(start, end), [], guessed).text));
    done = end;
  }
  return { bytes: Buffer.concat([...pieces, bytes.subarray(done)]), guessed };
}

function joinedUpTo(most: number, bytes: Buffer, lines: readonly (readonly [number, number])[]): Buffer {
  const taken: Buffer[] = [];
  let size = 0;
  for (const [start, end] of lines) {
    if (size >= most) break;
    taken.push(bytes.subarray(start, Math.min(end, start + most)));
    size += end - start;
  }
  return Buffer.concat(taken);
}

/** Yields where those lines begin and end that are no UTF-8, in headers and in texts without an encoding. */
function* linesWithoutEncoding(bytes: Buffer): Generator<readonly [number, number]> {
  const boundaries = new Set<string>();
  let [head, isHead, isText] = ['', true, false];
  for (let start = 0; start < bytes.length; ) {
    const next = bytes.indexOf(NEWLINE, start);
    const end = next < 0 ? bytes.length : next + 1;
    const line = bytes.subarray(start, end);
    const limit = boundaryIn(line, boundaries);
    if (limit !== undefined) [head, isHead, isText] = ['', limit === 'next', false];
    else if (isHead && isEmpty(line)) {
      const { boundary, isMessage, isPlain } = toldBy(head);
      if (boundary !== undefined) boundaries.add(boundary);
      // What follows is the header block of the attached message.
      [head, isHead, isText] = ['', isMessage, isPlain];
    } else if (isHead && head.length < LONGEST_HEAD) head += line.toString('latin1', 0, LONGEST_HEAD);
    if ((isHead || isText) && !isUtf8(line)) yield [start, end];
    start = end;
  }
}

const isEmpty = (line: Buffer): boolean => line.length <= LONGEST_LIMIT && line.toString('latin1').trim() === '';

/** @returns whether the line begins the next part of the message, or ends the last one; undefined for all other lines */
function boundaryIn(line: Buffer, boundaries: ReadonlySet<string>): 'next' | 'last' | undefined {
  if (boundaries.size === 0 || line[0] !== DASH || line[1] !== DASH || line.length > LONGEST_LIMIT) return undefined;
  const named = line.toString('latin1', 2).trimEnd();
  if (boundaries.has(named)) return 'next';
  return named.endsWith('--') && boundaries.has(named.slice(0, -2)) ? 'last' : undefined;
}

interface Head {
  /** Between its parts. */
  readonly boundary: string | undefined;
  /** Whether what follows is a message itself. */
  readonly isMessage: boolean;
  /** Whether what follows is a text that does not name its encoding. */
  readonly isPlain: boolean;
}

function toldBy(head: string): Head {
  const fields = head.toLowerCase();
  const type = /^content-type:[ \t]{0,20}([a-z]{1,20})/m.exec(fields)?.[1] ?? 'text';
  const isEncoded = /^content-transfer-encoding:[ \t]{0,20}(?:base64|quoted)/m.test(fields);
  const [, quoted, bare] = /\bboundary[ \t]{0,20}=[ \t]{0,20}(?:"([^"\r\n]{1,200})"|([^\s";]{1,200}))/i.exec(head) ?? [];
  return {
    boundary: type === 'multipart' ? (quoted ?? bare)?.trimEnd() : undefined,
    isMessage: type === 'message' && !isEncoded,
    isPlain: type === 'text' && !isEncoded && !/\bcharset[ \t]{0,20}=/.test(fields),
  };
}
