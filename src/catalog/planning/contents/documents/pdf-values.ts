/** Values in the syntax of PDF (ISO 32000-1, 7.3). */

/** A reference is an object with a number; names begin with `/`; strings are one letter a byte. */
export type PdfValue = null | boolean | number | string | PdfString | PdfReference | readonly PdfValue[] | PdfDictionary;
export interface PdfString {
  readonly text: string;
}
export interface PdfReference {
  readonly object: number;
}
export type PdfDictionary = ReadonlyMap<string, PdfValue>;

const MOST_DEPTH = 40;
const letters = (are: (letter: string) => boolean): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, code) => (are(String.fromCharCode(code)) ? 1 : 0));
/** By code, since a file has millions of them: blanks, and what ends a word. */
const BLANKS = letters((letter) => /[\s\0]/.test(letter));
const ENDS = letters((letter) => '()<>[]{}/% \t\r\n\f\0'.includes(letter));
const PERCENT = 0x25;

/** @param text one letter a byte @param end where to stop @returns the value that begins there, and null for what is none */
export const valueIn = (text: string, at: number, end = text.length): PdfValue => new Reader(text.slice(at, end)).value(0);

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): PdfValue {
    this.#skip();
    const letter = this.#text[this.#at];
    if (depth > MOST_DEPTH) this.#at = this.#text.length;
    if (letter === undefined || depth > MOST_DEPTH) return null;
    if (letter === '/') return `/${this.#name()}`;
    if (letter === '(') return { text: this.#literal() };
    if (letter === '[') return this.#list(depth);
    if (letter === '<') return this.#text[this.#at + 1] === '<' ? this.#dictionary(depth) : { text: this.#hexadecimal() };
    return this.#word();
  }

  #skip(): void {
    for (; ; this.#at++) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === PERCENT) while (this.#at < this.#text.length && !'\r\n'.includes(this.#text[this.#at] ?? '')) this.#at++;
      else if (BLANKS[code] !== 1) return;
    }
  }

  #token(): string {
    const from = this.#at;
    while (this.#at < this.#text.length && ENDS[this.#text.charCodeAt(this.#at)] !== 1) this.#at++;
    return this.#text.slice(from, this.#at);
  }

  #name(): string {
    this.#at++;
    const token = this.#token();
    if (!token.includes('#')) return token;
    return token.replace(/#([\da-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }

  #list(depth: number): readonly PdfValue[] {
    const values: PdfValue[] = [];
    this.#at++;
    for (this.#skip(); this.#at < this.#text.length && this.#text[this.#at] !== ']'; this.#skip()) values.push(this.value(depth + 1));
    this.#at++;
    return values;
  }

  #dictionary(depth: number): PdfDictionary {
    const entries = new Map<string, PdfValue>();
    this.#at += 2;
    for (this.#skip(); this.#text[this.#at] === '/'; this.#skip()) {
      const key = this.#name();
      entries.set(key, this.value(depth + 1));
    }
    this.#at += 2;
    return entries;
  }

  /** A number, a reference of three words, or one of the few others. */
  #word(): PdfValue {
    const word = this.#token();
    if (word === '') this.#at++;
    if (!/^[+-]?[\d.]{1,30}$/.test(word)) return word === 'true' ? true : word === 'false' ? false : null;
    const rest = /^[\s\0]{1,9}\d{1,5}[\s\0]{1,9}R(?![\w.])/.exec(this.#text.slice(this.#at, this.#at + 30))?.[0];
    if (rest === undefined || !/^\d+$/.test(word)) return Number(word);
    this.#at += rest.length;
    return { object: Number(word) };
  }

  #hexadecimal(): string {
    const end = this.#text.indexOf('>', this.#at);
    const digits = this.#text.slice(this.#at + 1, end < 0 ? undefined : end).replace(/[^\da-f]/gi, '');
    this.#at = end < 0 ? this.#text.length : end + 1;
    return Buffer.from(digits.length % 2 === 0 ? digits : `${digits}0`, 'hex').toString('latin1');
  }

  #literal(): string {
    const pieces: string[] = [];
    let depth = 1;
    for (this.#at++; this.#at < this.#text.length; this.#at++) {
      const letter = this.#text[this.#at] ?? '';
      if (letter === '\\') {
        const octal = /^[0-7]{1,3}/.exec(this.#text.slice(this.#at + 1, this.#at + 4))?.[0];
        const next = this.#text[this.#at + 1] ?? '';
        pieces.push(octal === undefined ? (ESCAPES[next] ?? next) : String.fromCharCode(Number.parseInt(octal, 8) & 0xff));
        this.#at += octal?.length ?? 1;
        continue;
      }
      if (letter === '(') depth++;
      if (letter === ')' && --depth === 0) break;
      pieces.push(letter);
    }
    this.#at++;
    return pieces.join('');
  }
}
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', '\n': '' };

/** What a string of text says. (7.9.2.2) */
export function textOfString({ text }: PdfString): string {
  const bytes = Buffer.from(text, 'latin1');
  if (text.startsWith('\xfe\xff'))
    return bytes
      .subarray(2, 2 + ((bytes.length - 2) & ~1))
      .swap16()
      .toString('utf16le');
  if (text.startsWith('\xef\xbb\xbf')) return bytes.toString('utf8', 3);
  return text.replace(/[\x18-\x1f\x80-\xa0]/g, (letter) => {
    const code = letter.charCodeAt(0);
    return (code < 0x80 ? ACCENTS[code - 0x18] : SIGNS[code - 0x80]) ?? letter;
  });
}
/** PDFDocEncoding from 0x18 and from 0x80 on, where it is not Latin-1. (Annex D.2) */
const ACCENTS = [...'\u02d8\u02c7\u02c6\u02d9\u02dd\u02db\u02da\u02dc'];
const SIGNS = [
  ...'\u2022\u2020\u2021\u2026\u2014\u2013\u0192\u2044\u2039\u203a\u2212\u2030\u201e\u201c\u201d\u2018\u2019\u201a\u2122\ufb01\ufb02\u0141\u0152\u0160\u0178\u017d\u0131\u0142\u0153\u0161\u017e\ufffd\u20ac',
];
