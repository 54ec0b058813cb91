/** Makes visible what a terminal or a reader would obey instead of showing: control characters, escape sequences, direction marks. */

/**
 * C0, DEL and C1 (with them every escape sequence), what has no width or turns the direction of text (Unicode 16, General Category Cf), line and
 * paragraph separators, lone surrogates. Joiners (U+200C, U+200D) stay: Persian, Hindi and emoji are written with them.
 */
const OBEYED = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu;
/** Bytes of a name that is not UTF-8, as `decodeName` of the command line keeps them (PEP 383). */
const isByte = (code: number): boolean => code >= 0xdc80 && code <= 0xdcff;

/** One line, with `\x1b`, `\n`, `\u{202e}` for what cannot be seen. */
export const printable = (text: string): string => text.replace(OBEYED, escaped);

/** The same of several lines, which stay apart, and with tabs. */
export const printableLines = (text: string): string =>
  text.replace(OBEYED, (character) => (character === '\n' || character === '\t' ? character : escaped(character)));

/** JSON that means the same, in which nothing is hidden. @param json as `JSON.stringify` writes it without an indent */
export const printableJson = (json: string): string =>
  json.replace(OBEYED, (character) => [...Array(character.length).keys()].map((at) => unit(character.charCodeAt(at))).join(''));
const unit = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\n') return '\\n';
  if (character === '\r') return '\\r';
  if (character === '\t') return '\\t';
  if (isByte(code)) return `\\x${(code - 0xdc00).toString(16)}`;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
}
