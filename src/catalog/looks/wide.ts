/** Text of two or four bytes a character: UTF-16 and UTF-32, with a byte order mark or without one (Unicode 15, 2.6 and 3.10). */

export type Wide = 'utf-16le' | 'utf-16be' | 'utf-32le' | 'utf-32be';

/** Those of four bytes first: the mark of one begins like that of UTF-16. */
const MARKS: readonly (readonly [readonly number[], Wide])[] = [
  [[0xff, 0xfe, 0, 0], 'utf-32le'],
  [[0, 0, 0xfe, 0xff], 'utf-32be'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];
const UNMARKED: readonly Wide[] = ['utf-32le', 'utf-32be', 'utf-16le', 'utf-16be'];
/** Bytes of a text without a mark that are looked at; a multiple of four. */
const LOOKED_AT = 4096;
/** Characters that a decoder is called with, which pass as arguments. */
const AT_ONCE = 8192;

/** Characters that no text has: controls other than line ends, tabs and terminals' escapes, private use, unpaired surrogates, and unassigned ones. */
const STRANGE = /[\p{Cn}\p{Co}\p{Cs}\ufffd\0-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]/u;
/** Characters that one byte can hold, in Latin-1; UTF-16 that is read in the wrong byte order has none of them. */
const NARROW = /[\t-\r\x1b -~\xa0-\xff]/g;
const LATIN = /[\p{Script=Latin}\p{Nd}]/gu;
const WORDS = /[\p{L}\p{M}\p{Nd}]/gu;
/** What separates words and ends lines. Only the usual space: U+2000 is that space in UTF-16 of the wrong byte order. */
const BETWEEN = /[ \t\r\n,.;:!?\u3001\u3002\uff0c]/;
/** Scripts that one text mixes; UTF-16 of the wrong byte order reads as letters of many scripts. */
const SCRIPTS: readonly RegExp[] = [
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\u30fc]/gu,
  /[\p{Script=Hangul}\p{Script=Han}]/gu,
  /[\p{Script=Cyrillic}\p{Script=Inherited}]/gu,
  /[\p{Script=Greek}\p{Script=Inherited}]/gu,
  /[\p{Script=Arabic}\p{Script=Inherited}]/gu,
  /[\p{Script=Hebrew}\p{Script=Inherited}]/gu,
  /[\p{Script=Devanagari}\p{Script=Inherited}]/gu,
  /[\p{Script=Thai}\p{Script=Inherited}]/gu,
  /[\p{Script=Bengali}\p{Script=Inherited}]/gu,
  /[\p{Script=Tamil}\p{Script=Inherited}]/gu,
  /[\p{Script=Telugu}\p{Script=Inherited}]/gu,
  /[\p{Script=Gujarati}\p{Script=Inherited}]/gu,
  /[\p{Script=Georgian}\p{Script=Inherited}]/gu,
  /[\p{Script=Armenian}\p{Script=Inherited}]/gu,
];
/** Shares of a text without a mark: narrow characters, or words among its characters, and one script beside Latin among its words. */
const LEAST_NARROW = 0.6;
const LEAST_WORDS = 0.5;
const LEAST_OF_SCRIPT = 0.9;
/** Characters below which letters are a matter of luck, unless all of them are Latin. */
const LEAST_CHARACTERS = 6;

/** The encoding that a byte order mark names. */
export const markedWide = (bytes: Uint8Array): Wide | undefined =>
  MARKS.find(([mark]) => mark.every((byte, at) => bytes[at] === byte))?.[1];

/**
 * The encoding that a text has without a mark: its characters are words of one script, perhaps with Latin ones among them.
 * Without a single zero byte, which each space and line end has, it is taken for a text of narrow characters.
 */
export function unmarkedWide(bytes: Uint8Array): Wide | undefined {
  const start = bytes.subarray(0, LOOKED_AT);
  return start.includes(0) ? UNMARKED.find((encoding) => readsAsWords(start, encoding)) : undefined;
}

export const wideEncoding = (bytes: Uint8Array): Wide | undefined => markedWide(bytes) ?? unmarkedWide(bytes);

function readsAsWords(bytes: Uint8Array, encoding: Wide): boolean {
  const size = encoding.startsWith('utf-32') ? 4 : 2;
  if (bytes.length < 2 * size) return false;
  const text = decodeWide(bytes.subarray(0, bytes.length - (bytes.length % size)), encoding);
  // The last character may be half of a pair.
  if (STRANGE.test(text.replace(/[\ud800-\udbff]$|\ufffd$/, ''))) return false;
  const count = (pattern: RegExp): number => text.match(pattern)?.length ?? 0;
  const [characters, words, latin] = [text.length, count(WORDS), count(LATIN)];
  if (count(NARROW) >= characters * LEAST_NARROW) return true;
  if (words < characters * LEAST_WORDS || words === 0) return false;
  if (latin === words) return true;
  if (characters < LEAST_CHARACTERS || !BETWEEN.test(text)) return false;
  return SCRIPTS.some((script) => latin + count(script) >= words * LEAST_OF_SCRIPT);
}

/**
 * Never fails: what is no character becomes U+FFFD; drops the byte order mark.
 * @param encoding may also be any of the Encoding Standard, which knows no UTF-32
 */
export const decodeWide = (bytes: Uint8Array, encoding: string): string =>
  encoding === 'utf-32le' || encoding === 'utf-32be'
    ? fourBytes(bytes, encoding === 'utf-32le').replace(/^\ufeff/, '')
    : new TextDecoder(encoding).decode(bytes);

function fourBytes(bytes: Uint8Array, isLittle: boolean): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const pieces: string[] = [];
  for (let at = 0; at + 4 <= bytes.length; at += 4 * AT_ONCE) {
    const codes = Array.from({ length: Math.min(AT_ONCE, Math.floor((bytes.length - at) / 4)) }, (_, place) => {
      const code = view.getUint32(at + 4 * place, isLittle);
      return code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0xfffd : code;
    });
    pieces.push(String.fromCodePoint(...codes));
  }
  return pieces.join('');
}
