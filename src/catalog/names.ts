/** File names: makes names from clients safe, and names results. */

/** File systems allow 255 bytes, including the suffix and the extension; RFC 8187 sets no bound. */
const MAX_BASE_BYTES = 120;
export const SUFFIX = '-filemill';

/**
 * The last part of a client's path without misleading characters: control characters, direction overrides, separators, reserved characters.
 * @returns a name of at most 120 bytes plus extension; `file` if nothing is left
 */
export function cleanName(sent: string): string {
  const last = shortened(lastPart(sent)).normalize('NFC');
  // C0, DEL, C1, zero-width and bidirectional controls (Unicode 16, General Category Cf), lone surrogates, and what Windows forbids.
  const allowed = last.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}<>:"|?*]/gu, '');
  const plain = withoutEnds(allowed);
  const base = baseName(plain);
  const short = truncate(RESERVED.test(base) ? `_${base}` : base, MAX_BASE_BYTES) || 'file';
  return `${short}${plain.slice(base.length)}`;
}

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

/** A clean name without its extension; in `Plan 1.5 final` the dot begins none. */
export const baseName = (name: string): string => name.replace(/(?<=.)\.[A-Za-z0-9]{1,10}$/, '');

/** `photo.png` converted to `jpg` is named `photo-filemill.jpg`, and that converted to `webp` `photo-filemill.webp`: names do not grow with each step. */
export const resultName = (sourceName: string, extension: string): string =>
  `${truncate(nameWithoutSuffix(baseName(sourceName)), MAX_BASE_BYTES)}${SUFFIX}.${extension}`;

/** The same without the service's suffix, as people save it: `photo.jpg`. */
export function nameWithoutSuffix(resultName: string): string {
  const base = baseName(resultName);
  return base.endsWith(SUFFIX) && base.length > SUFFIX.length
    ? `${base.slice(0, -SUFFIX.length)}${resultName.slice(base.length)}`
    : resultName;
}

/**
 * Keeps the names in one archive apart, also on file systems that ignore case or normalise Unicode: there `STRASSE`, `strasse` and `straße`
 * are one name (full case folding: Unicode 16, 5.18.4, here by way of upper case).
 * @param reserved names that are taken already @returns takes the first candidate that is free; the candidates must not end before
 */
export function distinctNames(reserved: readonly string[] = []): (candidates: Iterable<string>) => string {
  const taken = new Set(reserved.map(fold));
  return (candidates) => {
    for (const name of candidates) {
      const folded = fold(name);
      if (taken.has(folded)) continue;
      taken.add(folded);
      return name;
    }
    throw new Error('no name is free');
  };
}

// Lower case first: the capital sharp s has no other upper case.
const fold = (name: string): string => name.normalize('NFKC').toLowerCase().toUpperCase().normalize('NFKC');

/** `-2`, `-3` and so on. */
export function* numberedNames(base: string, end: string): Generator<string> {
  for (let number = 2; ; number++) yield `${base}-${number}${end}`;
}

/** Cuts to at most `bytes` of UTF-8, never inside a character. */
function truncate(text: string, bytes: number): string {
  let kept = '';
  let size = 0;
  for (const character of text) {
    size += Buffer.byteLength(character);
    if (size > bytes) break;
    kept += character;
  }
  return kept.trimEnd();
}
