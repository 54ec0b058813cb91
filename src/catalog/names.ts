/** File names: makes names from clients safe, and names results. */

/** File systems allow 255 bytes, including the suffix and the extension; RFC 8187 sets no bound. */
const MAX_BASE_BYTES = 120;
/** Behind the name of a source, unless the operator sets another one (`output.suffix`). */
export const SUFFIX = '-filemill';

/**
 * The last part of a client's path without misleading characters: control characters, direction overrides, separators, reserved characters.
 * @returns a name of at most 120 bytes plus extension; `file` if nothing is left
 */
export function cleanName(sent: string): string {
  const plain = withoutEnds(cleanPart(shortened(lastPart(sent)), ''));
  const base = baseName(plain);
  const short = truncate(asFileOfWindows(base), MAX_BASE_BYTES) || 'file';
  return `${short}${plain.slice(base.length)}`;
}

/** C0, DEL, C1, line and paragraph separators, lone surrogates: lists of files break at them, terminals obey them. */
const CONTROLS = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** What has no width, or turns the direction of text (Unicode 16, General Category Cf). */
const UNSEEN = /\p{Cf}/gu;
/** Naming Files, Paths, and Namespaces (Windows). */
const FORBIDDEN = /[<>:"|?*\\]/g;

/** With at most 30 marks on a letter (Unicode 16, Annex 15, 13): normalizing takes the square of their number. */
export const inStreams = (text: string): string => text.replace(/(\p{M}{30})\p{M}+/gu, '$1');

/** One part of a path, or all, composed and without what misleads. @param mark stands for each control character */
export const seenName = (part: string, mark: string): string =>
  inStreams(part.replace(UNSEEN, '').replace(CONTROLS, mark)).normalize('NFC');
/** One part of a path, also without what Windows forbids. @param mark stands for each such character that shows */
export const cleanPart = (part: string, mark: string): string => seenName(part, mark).replace(FORBIDDEN, mark);

const lastPart = (path: string): string => path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);

/** Characters of a long name that are read: its beginning, for the base, and its end, for the extension. */
const [LOOKED_AT, END] = [1024, 64] as const;
const shortened = (name: string): string => (name.length <= LOOKED_AT + END ? name : `${name.slice(0, LOOKED_AT)}${name.slice(-END)}`);

/** Removes blanks and dots at both ends, but for one dot at the beginning, as in `.bashrc`. */
function withoutEnds(name: string): string {
  const outer = /[\s.]/;
  let [from, to] = [0, name.length];
  while (from < to && outer.test(name.charAt(from))) from++;
  while (to > from && outer.test(name.charAt(to - 1))) to--;
  const isHidden = to > from && name.charAt(from - 1) === '.' && name.charAt(from - 2) !== '.';
  return `${isHidden ? '.' : ''}${name.slice(from, to)}`;
}

/** Names that Windows reserves for devices, with any extension (Naming Files, Paths, and Namespaces; CreateFile, "Consoles"). */
const RESERVED = /^(?:con|conin\$|conout\$|prn|aux|nul|(?:com|lpt)[\d¹²³])\s*(?:\.|$)/i;

/** The name with a mark before it where Windows would open a device. */
export const asFileOfWindows = (name: string): string => (RESERVED.test(name) ? `_${name}` : name);

/** A clean name without its extension; in `Plan 1.5 final` the dot begins none. */
export const baseName = (name: string): string => name.replace(/(?<=.)\.[A-Za-z0-9]{1,10}$/, '');

/**
 * `photo.png` converted to `jpg` is named `photo-filemill.jpg`, and that converted to `webp` `photo-filemill.webp`: names do not grow with each step.
 * @param suffix the operator's
 */
export const resultName = (sourceName: string, extension: string, suffix = SUFFIX): string =>
  `${truncate(withoutSuffix(baseName(sourceName), suffix || SUFFIX), MAX_BASE_BYTES)}${suffix}.${extension}`;

/** The name that people save a result under: without the operator's suffix, and without the usual one, which it may have had before. */
export function nameWithoutSuffix(sourceName: string, extension: string, suffix: string): string {
  const base = [...new Set([suffix || SUFFIX, SUFFIX])].reduce(withoutSuffix, baseName(sourceName));
  return `${truncate(base, MAX_BASE_BYTES)}.${extension}`;
}

const withoutSuffix = (base: string, suffix: string): string =>
  base.endsWith(suffix) && base.length > suffix.length ? base.slice(0, -suffix.length) : base;

/**
 * Keeps the names in one archive apart, also on file systems that ignore case or normalise Unicode: there `STRASSE`, `strasse` and `straße`
 * are one name (full case folding: Unicode 16, 5.18.4, here by way of upper case).
 * @param reserved names that are taken already @returns takes the first candidate that is free; the candidates must not end before
 */
export function distinctNames(reserved: readonly string[] = []): (candidates: Iterable<string>) => string {
  const taken = new Set(reserved.map(foldName));
  return (candidates) => {
    for (const name of candidates) {
      const folded = foldName(name);
      if (taken.has(folded)) continue;
      taken.add(folded);
      return name;
    }
    throw new Error('no name is free');
  };
}

// Lower case first: the capital sharp s has no other upper case.
export const foldName = (name: string): string =>
  /^[ -~]*$/.test(name) ? name.toUpperCase() : inStreams(name).normalize('NFKC').toLowerCase().toUpperCase().normalize('NFKC');

/** `-2`, `-3` and so on. */
export function* numberedNames(base: string, end: string): Generator<string> {
  for (let number = 2; ; number++) yield `${base}-${number}${end}`;
}

/** Cuts to at most `bytes` of UTF-8, never inside a character. */
export function truncate(text: string, bytes: number): string {
  let kept = '';
  let size = 0;
  for (const character of text) {
    size += Buffer.byteLength(character);
    if (size > bytes) break;
    kept += character;
  }
  return kept.trimEnd();
}
