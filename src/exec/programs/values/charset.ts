/** The encoding of a text: what it begins with, what it declares, UTF-8 where it is, and otherwise the one that its bytes look like. */
import { isUtf8 } from 'node:buffer';
import { analyse } from 'chardet';
import { Unfit } from './value.ts';

export interface Decoded {
  readonly text: string;
  /** Name of an encoding that nothing in the file tells. */
  readonly guessed?: string;
}

/** How a file begins in each encoding with a mark (Unicode 15, 2.6). */
const MARKS: readonly (readonly [readonly number[], string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];
/** Where a text may name its encoding, with what stands before the name. */
export const DECLARATIONS = {
  // XML 1.0, 4.3.3: the declaration is in ASCII, or each character has two bytes.
  xml: /^(\s{0,20}<\?xml\s[^>]{0,200}?encoding\s{0,9}=\s{0,9}["'])([A-Za-z][\w.-]{0,40})(?=["'])/,
  // HTML, 13.2.3.2: of a page whose bytes are looked through for it.
  html: /(<meta\s[^>]{0,300}?charset\s{0,9}=\s{0,9}["']?)([A-Za-z][\w.:-]{0,40})/i,
} as const;
export type Declares = keyof typeof DECLARATIONS;
/** Characters at the beginning in which a declaration counts. */
export const DECLARED_WITHIN = 1024;

/** Looked at where nothing tells the encoding, bytes. */
const MOST_LOOKED_AT = 64 * 1024;
/** Of 100: below it a short text looks like many, and is taken for one of Western Europe. */
const SURE_ENOUGH = 20;
const WESTERN = 'Windows-1252';
/** Of what chardet names, those that every decoder reads as the larger set of Windows (Encoding Standard, "Names and labels"). */
const LARGER: Readonly<Record<string, string>> = { 'ISO-8859-1': WESTERN, 'ISO-8859-9': 'Windows-1254', ASCII: WESTERN };

/** What clients are told of a guess. */
export const toldOf = ({ guessed }: Decoded): readonly string[] =>
  guessed === undefined ? [] : [`The text is no UTF-8: it was read as ${guessed}.`];

/** @param declares how the text may name its encoding */
export function decodeText(bytes: Buffer, declares: readonly Declares[]): Decoded {
  const mark = MARKS.find(([start]) => start.every((byte, at) => bytes[at] === byte))?.[1];
  if (mark !== undefined) return { text: new TextDecoder(mark).decode(bytes) };
  const start = bytes.toString('latin1', 0, DECLARED_WITHIN);
  const label = declares.map((how) => DECLARATIONS[how].exec(start)?.[2]).find((found) => found !== undefined);
  if (label !== undefined && !/^utf-?(8|16)/i.test(label)) return { text: decoderOf(label).decode(bytes) };
  if (bytes[0] !== 0 && bytes[1] === 0) return { text: new TextDecoder('utf-16le').decode(bytes) };
  if (isUtf8(bytes)) return { text: bytes.toString() };
  const guessed = looksLike(bytes);
  return { text: new TextDecoder(guessed).decode(bytes), guessed };
}

function looksLike(bytes: Buffer): string {
  const found = analyse(foreignLines(bytes.subarray(0, MOST_LOOKED_AT))).find(
    ({ name, confidence }) => confidence >= SURE_ENOUGH && !/^utf/i.test(name),
  );
  const name = found === undefined ? WESTERN : (LARGER[found.name] ?? found.name);
  return isDecoded(name) ? name.replace(/^windows/, 'Windows') : WESTERN;
}

/** Lines and tags of ASCII say nothing of an encoding, and would be taken for the language. */
function foreignLines(bytes: Buffer): Buffer {
  const lines: Buffer[] = [];
  let [start, isForeign] = [0, false];
  for (let at = 0; at <= bytes.length; at++) {
    const byte = bytes[at] ?? LINE_END;
    if (byte >= 0x80) isForeign = true;
    if (byte !== LINE_END && byte !== 0x3c && byte !== 0x3e) continue;
    if (isForeign) lines.push(bytes.subarray(start, at), Buffer.of(LINE_END));
    [start, isForeign] = [at + 1, false];
  }
  return Buffer.concat(lines);
}
const LINE_END = 0x0a;

function isDecoded(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== '';
  } catch {
    return false;
  }
}

function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    throw new Unfit('unsupported_variant', 'The file names an encoding that the service does not know.');
  }
}
