/** The encoding of a text: what it begins with, what it declares, UTF-8 where it is, and otherwise the usual one of Western Europe. */
import { isUtf8 } from 'node:buffer';
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
/** XML 1.0, 4.3.3: the declaration is in ASCII, or each character has two bytes. */
const DECLARED = /^\s{0,20}<\?xml\s[^>]{0,200}?encoding\s{0,9}=\s{0,9}["']([A-Za-z][\w.-]{0,40})["']/;

/** What clients are told of a guess. */
export const toldOf = ({ guessed }: Decoded): readonly string[] =>
  guessed === undefined ? [] : [`The text is no UTF-8: it was read as ${guessed}.`];

/** @param declares whether the text may name its encoding, as XML does */
export function decodeText(bytes: Buffer, declares: boolean): Decoded {
  const mark = MARKS.find(([start]) => start.every((byte, at) => bytes[at] === byte))?.[1];
  if (mark !== undefined) return { text: new TextDecoder(mark).decode(bytes) };
  const label = declares ? DECLARED.exec(bytes.toString('latin1', 0, 400))?.[1] : undefined;
  if (label !== undefined && !/^utf-?(8|16)/i.test(label)) return { text: decoderOf(label).decode(bytes) };
  if (bytes[0] !== 0 && bytes[1] === 0) return { text: new TextDecoder('utf-16le').decode(bytes) };
  if (isUtf8(bytes)) return { text: bytes.toString() };
  return { text: new TextDecoder('windows-1252').decode(bytes), guessed: 'Windows-1252' };
}

function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    throw new Unfit('unsupported_variant', 'The file names an encoding that the service does not know.');
  }
}
