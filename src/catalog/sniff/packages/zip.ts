/** Office documents and books that are ZIP archives, by their part names; packages of other programs are unknown, and any other ZIP is an archive. */
import { formats } from '../../formats.ts';
import { asBuffer, find, has, latin1, u16le, u32le } from '../../looks/bytes.ts';
import type { Detected, Sample } from '../../looks/sample.ts';
import { asCut, asFormat, asRefused, tieAmong, UNKNOWN } from '../verdict.ts';

/** Further parts are not read: they add nothing, and forged headers must not cost time. */
const MOST_PARTS = 4096;

const zipped = [...formats.values()].filter((row) => row.zip !== undefined);

export function zip(sample: Sample): Detected | undefined {
  const { head } = sample;
  if (has(head, 0, 'PK\x05\x06')) return asFormat('zip');
  // One of several volumes, each of which is nothing without the others.
  if (has(head, 0, 'PK\x07\x08')) return UNKNOWN;
  if (!has(head, 0, 'PK\x03\x04')) return undefined;
  const local = localParts(head);
  if (!hasEnd(sample)) return asCut(beginningOf(local));
  const mimetype = local.find(({ name }) => name === 'mimetype')?.text;
  if (mimetype !== undefined) return byMimetype(mimetype);
  const central = centralParts(sample);
  // Readers use the central directory; local headers replace it if it lies outside the sample.
  return byParts(central.length > 0 ? [...central, ...local.map(({ name }) => name)] : local.map(({ name }) => name));
}

/** Every reader looks for it at the end (APPNOTE 4.3.16), where a comment of at most 65,535 bytes may follow. */
const hasEnd = ({ tail }: Sample): boolean => asBuffer(tail).lastIndexOf('PK\x05\x06', tail.length, 'latin1') >= 0;

/** What it was to become, by the parts that there are: the one that decides may be lost. */
function beginningOf(parts: readonly LocalPart[]): string {
  const mimetype = parts.find(({ name }) => name === 'mimetype')?.text;
  const found = mimetype === undefined ? byParts(parts.map(({ name }) => name)) : byMimetype(mimetype);
  if (found.kind === 'format' && found.format !== 'zip') return found.format;
  return OFFICE.find(([folder]) => parts.some(({ name }) => folder.test(name)))?.[1] ?? 'zip';
}
/** Folders of the parts of a document (ECMA-376 part 1, 8 to 15 show them so). */
const OFFICE: readonly (readonly [RegExp, string])[] = [
  [/^\/?word[/\\]/i, 'docx'],
  [/^\/?xl[/\\]/i, 'xlsx'],
  [/^\/?ppt[/\\]/i, 'pptx'],
];

/** Packages that are recognised, so that the answer names them, by a part that only they have. */
const NAMED: readonly (readonly [RegExp, string])[] = [
  [/^(?:FixedDocSeq\.fdseq|FixedDocumentSequence\.fdseq)$/i, 'XPS document'],
  [/^Index\/Document\.iwa$|^index\.(?:pages|numbers)$|^index\.apxl$/i, 'iWork document (Pages, Numbers or Keynote)'],
];

function byMimetype(mimetype: string): Detected {
  // Templates and parts of a book have longer types.
  const found = zipped.find((row) => row.zip === 'mimetype' && mimetype.startsWith(row.mime));
  if (found !== undefined) return asFormat(found.id);
  const type = /^[a-z]{1,20}\/[a-z0-9.+-]{1,80}/.exec(mimetype)?.[0];
  return type === undefined ? UNKNOWN : asRefused(`package of type ${type}`);
}

function byParts(names: readonly string[]): Detected {
  const isPackage = names.some((name) => /^\[Content_Types\]\.xml$/i.test(name));
  if (isPackage) {
    const main = names.flatMap((name) => zipped.filter((row) => row.zip instanceof RegExp && row.zip.test(name)))[0];
    if (main !== undefined) return asFormat(main.id);
  }
  const named = NAMED.find(([part]) => names.some((name) => part.test(name)));
  if (named !== undefined) return asRefused(named[1]);
  if (isPackage) return UNKNOWN;
  if (isFontSource(names)) return asFormat('ufoz');
  // EPUBs whose writer compressed the mimetype entry, or put it elsewhere.
  if (names.includes('META-INF/container.xml') && names.some((name) => name.toLowerCase().endsWith('.opf'))) return asFormat('epub');
  // A book that is shared compressed, as FictionBook has it.
  if (names.length > 0 && new Set(names).size === 1 && /\.fb2$/i.test(names[0] ?? '')) return asFormat('fb2');
  const book = BOOKS.find(([, isOne]) => isOne(names))?.[0];
  if (book !== undefined) return asFormat(book);
  return isComic(names) ? tieAmong(['zip', 'cbz'], 'zip') : asFormat('zip');
}

const hasAll =
  (...parts: readonly string[]) =>
  (names: readonly string[]): boolean =>
    parts.every((part) => names.includes(part));
/** Other programs use the ending, too: nothing but pictures may be beside it. */
const isPmlBook = (names: readonly string[]): boolean =>
  names.some((name) => PML.test(name)) && names.every((name) => PML.test(name) || /\/$|\.(?:png|jpe?g)$|^metadata\.opf$/i.test(name));
const PML = /^[^/]+\.pml$/i;

/** Books as calibre packs them, by parts that only they have together. */
const BOOKS: readonly (readonly [string, (names: readonly string[]) => boolean])[] = [
  ['htmlz', hasAll('metadata.opf', 'index.html')],
  ['txtz', hasAll('metadata.opf', 'index.txt')],
  ['pmlz', isPmlBook],
];

/** Pictures, and what comic book readers and file managers add. */
const isComic = (names: readonly string[]): boolean =>
  names.some((name) => PICTURE.test(name)) && names.every((name) => PICTURE.test(name) || BESIDE_PICTURES.test(name));
const PICTURE = /\.(?:jpe?g|png|gif|webp|bmp|tiff?|avif|heic|jxl)$/i;
const BESIDE_PICTURES = /\/$|\.(?:xml|json|txt|nfo|acbf)$|(?:^|\/)(?:\.|__MACOSX\/|Thumbs\.db$|desktop\.ini$)/i;

/** A typeface in its folder (Unified Font Object 3, "UFO Package Structure"): of thousands of glyphs, the sample may have some names alone. */
const isFontSource = (names: readonly string[]): boolean => {
  const own = names.filter((name) => !/^(?:__MACOSX\/|\.DS_Store$)/.test(name));
  const isOneFolder = new Set(own.map((name) => name.split('/', 1)[0])).size === 1;
  const hasLists =
    own.some((name) => /^[^/]+\/metainfo\.plist$/.test(name)) && own.some((name) => /^[^/]+\/glyphs\/contents\.plist$/.test(name));
  return (
    isOneFolder && (hasLists || (own.some((name) => GLYPH.test(name)) && own.every((name) => GLYPH.test(name) || BESIDE_GLYPHS.test(name))))
  );
};
const GLYPH = /^[^/]+\/glyphs[^/]*\/[^/]+\.glif$/;
const BESIDE_GLYPHS =
  /^[^/]+\/(?:(?:glyphs[^/]*|images|data)(?:\/.*)?|(?:metainfo|fontinfo|groups|kerning|lib|layercontents)\.plist|features\.fea)?$/;

interface LocalPart {
  readonly name: string;
  /** Its content, if it is the uncompressed part `mimetype`. */
  readonly text?: string;
}

/** Walks the local headers from the front (APPNOTE 4.3.7); if a header has no size, searches the next signature. */
function localParts(head: Uint8Array): readonly LocalPart[] {
  const parts: LocalPart[] = [];
  for (let at = 0; at >= 0 && has(head, at, 'PK\x03\x04') && parts.length < MOST_PARTS; ) {
    const nameLength = u16le(head, at + 26);
    const dataAt = at + 30 + nameLength + u16le(head, at + 28);
    if (Number.isNaN(dataAt)) break;
    const name = latin1(head, at + 30, nameLength);
    const told = (u16le(head, at + 6) & 8) === 0;
    const stored = u16le(head, at + 8) === 0;
    parts.push(name === 'mimetype' && stored ? { name, text: latin1(head, dataAt, 100) } : { name });
    at = told ? dataAt + u32le(head, at + 18) : find(head, 'PK\x03\x04', dataAt);
  }
  return parts;
}

/** Names in the part of the central directory that is in the tail (APPNOTE 4.3.12, 4.3.16). */
function centralParts({ tail, size }: Sample): readonly string[] {
  const end = asBuffer(tail).lastIndexOf('PK\x05\x06', tail.length, 'latin1');
  if (end < 0) return [];
  const told = u32le(tail, end + 16) - (size - tail.length);
  // If the directory begins before the tail, or bytes were prepended to the file, start at the first visible entry.
  let at = told >= 0 && has(tail, told, 'PK\x01\x02') ? told : find(tail, 'PK\x01\x02');
  const names: string[] = [];
  while (at >= 0 && at < end && has(tail, at, 'PK\x01\x02') && names.length < MOST_PARTS) {
    const nameLength = u16le(tail, at + 28);
    names.push(latin1(tail, at + 46, nameLength));
    at += 46 + nameLength + u16le(tail, at + 30) + u16le(tail, at + 32);
  }
  return names;
}
