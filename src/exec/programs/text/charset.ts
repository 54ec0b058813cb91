/** The encoding of a text: what it begins with, what it declares, UTF-8 where it is, and otherwise the one that its bytes look like. */
import { isUtf8 } from 'node:buffer';
import { analyse } from 'chardet';
import { decodeWide, markedWide, unmarkedWide } from '../../../catalog/looks/wide.ts';
import { FileRefused } from '../data/values/value.ts';
import type { Told } from '../process/answer.ts';
import { charsetOfWords, FEW_BYTES } from './few-words.ts';

export interface Decoded {
  readonly text: string;
  /** Name of an encoding that nothing in the file tells. */
  readonly guessed?: string;
}

const UTF8_MARK = Buffer.of(0xef, 0xbb, 0xbf);
/** How a text may name its encoding. */
export type Declares = 'xml' | 'html';
/** XML 1.0, 4.3.3: the declaration is in ASCII, or each character has two bytes. */
const XML_DECLARATION = /^\s{0,20}<\?xml\s[^>]{0,300}>/;
const ENCODING = /encoding\s{0,9}=\s{0,9}["']([A-Za-z][\w.-]{0,40})["']/;
/** HTML, 13.2.3.2. */
const META = /<meta\s[^<>]{0,400}>/gi;
const CHARSET = /charset\s{0,9}=\s{0,9}["']?([a-z][\w.:-]{0,40})/i;
/** Characters at the beginning in which a declaration counts. */
const DECLARED_WITHIN = 1024;

function labelIn(start: string, how: Declares): string | undefined {
  if (how === 'xml') return ENCODING.exec(XML_DECLARATION.exec(start)?.[0] ?? '')?.[1];
  const labels = Array.from(start.matchAll(META), ([tag]) => CHARSET.exec(tag)?.[1]);
  return labels.find((label) => label !== undefined);
}

/** A text whose declarations say UTF-8: of a page all of them, wherever they stand, as LibreOffice obeys each. */
export function declaringUtf8(text: string, declares: readonly Declares[]): string {
  const renamed = (found: string, pattern: RegExp) => found.replace(pattern, (whole, label: string) => whole.replace(label, 'UTF-8'));
  const xml = declares.includes('xml') ? text.replace(XML_DECLARATION, (found) => renamed(found, ENCODING)) : text;
  return declares.includes('html') ? xml.replace(META, (found) => renamed(found, CHARSET)) : xml;
}

/** Looked at where nothing tells the encoding, bytes. */
const MOST_LOOKED_AT = 64 * 1024;
/** Confidence, 0 to 100: below it a short text fits many encodings, and is taken for a Western European one. */
const SURE_ENOUGH = 20;
const WESTERN = 'Windows-1252';
/** Encodings named by chardet that every decoder reads as the larger set of Windows (Encoding Standard, "Names and labels"). */
const LARGER: Readonly<Record<string, string>> = { 'ISO-8859-1': WESTERN, 'ISO-8859-9': 'Windows-1254', ASCII: WESTERN };

/** What clients are told of a guess. */
export const toldOf = ({ guessed }: Decoded): readonly Told[] =>
  guessed === undefined
    ? []
    : [{ code: 'charset_guessed', message: `The text is not UTF-8 and does not name its encoding: it was read as ${guessed}.` }];

/**
 * @param declares how the text may name its encoding
 * @param charset counts more than all that the text tells
 */
export function decodeText(bytes: Buffer, declares: readonly Declares[], charset?: string): Decoded {
  const { encoding, isGuessed } = encodingFor(bytes, declares, charset);
  const text = decodeWide(bytes, encoding);
  return { text, ...(isGuessed ? { guessed: encoding } : {}) };
}

export function encodingFor(
  bytes: Buffer,
  declares: readonly Declares[],
  charset?: string,
): { readonly encoding: string; readonly isGuessed?: true } {
  if (charset !== undefined) return { encoding: charset };
  const marked = bytes.subarray(0, 3).equals(UTF8_MARK) ? 'utf-8' : markedWide(bytes);
  if (marked !== undefined) return { encoding: marked };
  const declared = declaredIn(bytes.toString('latin1', 0, DECLARED_WITHIN), declares);
  if (declared !== undefined && declared !== 'utf-8') return { encoding: declared };
  const wide = unmarkedWide(bytes);
  if (wide !== undefined) return { encoding: wide };
  if (declared === 'utf-8' || isUtf8(bytes)) return { encoding: 'utf-8' };
  const encoding = looksLike(bytes);
  // A text that was cut, or has a broken letter.
  return encoding === 'UTF-8' ? { encoding } : { encoding, isGuessed: true };
}

/**
 * @returns the encoding's name in the Encoding Standard; undefined where none is declared, or one of two bytes a letter, which the declaration itself disproves
 * @throws FileRefused for an XML file that names an unknown one; a page's is ignored (HTML, 13.2.3.2)
 */
function declaredIn(start: string, declares: readonly Declares[]): string | undefined {
  for (const how of declares) {
    const label = labelIn(start, how);
    if (label === undefined) continue;
    const encoding = encodingOf(label);
    if (encoding === undefined && how === 'xml')
      throw new FileRefused('unsupported_variant', 'The file names an encoding that the service does not know.');
    if (encoding !== undefined && !encoding.startsWith('utf-16')) return encoding;
  }
  return undefined;
}

/** @returns its name in the Encoding Standard; undefined for one that is not in it */
export function encodingOf(label: string): string | undefined {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}

function looksLike(bytes: Buffer): string {
  const lines = foreignLines(bytes);
  const likely = analyse(lines)
    .filter(({ confidence }) => confidence >= SURE_ENOUGH)
    .map(({ name }) => LARGER[name] ?? name.replace(/^windows/, 'Windows'))
    .filter((name) => encodingOf(name) !== undefined && !/^utf-(?:16|32)/i.test(name));
  return (lines.length > FEW_BYTES ? undefined : charsetOfWords(lines, likely)) ?? likely[0] ?? WESTERN;
}

/** Lines and tags of ASCII say nothing of an encoding, and would be taken for the language. */
function foreignLines(bytes: Buffer): Buffer {
  const lines: Buffer[] = [];
  let [start, isForeign, size] = [0, false, 0];
  for (let at = 0; at <= bytes.length && size < MOST_LOOKED_AT; at++) {
    const byte = bytes[at] ?? LINE_END;
    if (byte >= 0x80) isForeign = true;
    if (byte !== LINE_END && byte !== 0x3c && byte !== 0x3e) continue;
    if (isForeign) {
      lines.push(bytes.subarray(start, Math.min(at, start + MOST_LOOKED_AT)), Buffer.of(LINE_END));
      size += at - start;
    }
    [start, isForeign] = [at + 1, false];
  }
  return Buffer.concat(lines).subarray(0, MOST_LOOKED_AT);
}
const LINE_END = 0x0a;
