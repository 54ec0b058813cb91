/** Decodes text, and tells whether bytes are text at all. */
import { isUtf8 } from 'node:buffer';
import { asBuffer } from './bytes.ts';
import type { Sample } from './sample.ts';
import { decodeWide, type Wide, wideEncoding } from './wide.ts';

/** Shorter files in an 8-bit encoding are text only if most of them is ASCII, or reads as words: noise without a control character is a matter of luck there. */
const SURE_BYTES = 64;
const MOST_HIGH = 0.3;
/** Share of control characters that UTF-8 text may have: a few in a long log do not make it binary. */
const MOST_CONTROLS = 0.002;

/** Decodes UTF-16 and UTF-32, valid UTF-8, else Latin-1. Never fails; drops the byte order mark. */
export function decode(bytes: Uint8Array): string {
  const buffer = asBuffer(bytes);
  const wide = wideEncoding(buffer);
  if (wide !== undefined) return decodeWide(buffer, wide);
  const text = isUtf8(buffer.subarray(0, wholeCharacters(buffer))) ? buffer.toString('utf8') : buffer.toString('latin1');
  return text.replace(/^(?:\ufeff|\xef\xbb\xbf)/, '');
}

/** Whether the whole file is text, judged by the sample. An empty file is. */
export function isText({ head, tail, size }: Sample): boolean {
  const wide = wideEncoding(head);
  if (wide !== undefined) return isWideText(head, wide);
  // The tail counts too: a program may begin like text.
  return size <= head.length ? isNarrowText(head) : isNarrowText(head, 'end') && isNarrowText(tail, 'start');
}

/** @param cut the end at which the sample may have split a character */
function isNarrowText(bytes: Uint8Array, cut?: 'start' | 'end'): boolean {
  let controls = 0;
  let high = 0;
  for (const byte of bytes) {
    if (byte === 0) return false;
    if (byte >= 0x80) high++;
    else if (isControl(byte)) controls++;
  }
  const buffer = asBuffer(bytes);
  const whole = buffer.subarray(cut === 'start' ? firstCharacter(buffer) : 0, cut === 'end' ? wholeCharacters(buffer) : buffer.length);
  const allowed = Math.floor(bytes.length * MOST_CONTROLS);
  if (isUtf8(whole)) return controls <= allowed;
  return controls === 0 && (bytes.length >= SURE_BYTES || high <= bytes.length * MOST_HIGH || readsAsWords(buffer));
}

/** In other alphabets, no letter stands beside a letter or a sign of ASCII, but for marks; of two bytes of a letter, the second may be in ASCII. */
function readsAsWords(bytes: Buffer): boolean {
  const text = bytes.toString('latin1');
  if (/[\x80-\xff]{2}/.test(text) && !/[#-&*+<->@-~][\x80-\xff]|[\x80-\xff][#-&*+<->@-~]/.test(text)) return true;
  return EAST_ASIAN.some((encoding) =>
    /^[\p{Script=Han}\p{Script=Hiragana}\u30a1-\u30fe\p{P}\s\w]+$/u.test(new TextDecoder(encoding).decode(bytes)),
  );
}

/** Those in which a letter may end in a byte of ASCII. */
const EAST_ASIAN = ['shift_jis', 'gb18030', 'big5'];

/** Such a text has no NUL and hardly any control characters; noise has both, and invalid characters. */
function isWideText(bytes: Uint8Array, wide: Wide): boolean {
  const text = decodeWide(bytes.subarray(0, bytes.length & (wide.startsWith('utf-32') ? ~3 : ~1)), wide);
  // The last character may be half of a surrogate pair.
  const strange = /[\0-\x08\x0e-\x1a\x1c-\x1f\ufffd\ufffe\uffff]/.exec(text.slice(0, -1));
  return strange === null;
}

/** Tabs, line ends, form feeds and the escape of terminal colours count as text. */
const isControl = (byte: number): boolean => (byte < 0x20 && !(byte >= 0x09 && byte <= 0x0d) && byte !== 0x1b) || byte === 0x7f;

/** Length up to the last complete UTF-8 character: the sample may split the last one. */
function wholeCharacters(buffer: Buffer): number {
  for (let back = 1; back <= Math.min(3, buffer.length); back++) {
    const byte = buffer[buffer.length - back] ?? 0;
    if (byte >= 0xc0) return byte >= 0xf0 || (byte >= 0xe0 && back < 3) || back < 2 ? buffer.length - back : buffer.length;
    if (byte < 0x80) return buffer.length;
  }
  return buffer.length;
}

/** Offset of the first complete UTF-8 character: the sample may split the first one. */
function firstCharacter(buffer: Buffer): number {
  let at = 0;
  while (at < 3 && ((buffer[at] ?? 0) & 0xc0) === 0x80) at++;
  return at;
}
