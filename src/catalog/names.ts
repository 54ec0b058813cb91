/** What files are called: names that came from clients made harmless, and names of results. */

/** RFC 8187 has no bound; file systems allow 255 bytes, of which suffix and extension need some. */
const MAX_BASE_BYTES = 120;
export const SUFFIX = '-filemill';

/**
 * The last part of a client's path without what could mislead: control characters, direction overrides, separators, reserved characters.
 * @returns a name of at most 120 bytes plus extension, `file` where nothing is left
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

/** Of a long name the beginning, of which the base is made, and the end, where the extension is, characters: the rest is not looked at. */
const [LOOKED_AT, END] = [1024, 64] as const;
const shortened = (name: string): string => (name.length <= LOOKED_AT + END ? name : `${name.slice(0, LOOKED_AT)}${name.slice(-END)}`);

/** Without blanks and dots at both ends. */
function withoutEnds(name: string): string {
  const outer = /[\s.]/;
  let [from, to] = [0, name.length];
  while (from < to && outer.test(name.charAt(from))) from++;
  while (to > from && outer.test(name.charAt(to - 1))) to--;
  return name.slice(from, to);
}

/** Names that Windows keeps for devices, whatever follows (Naming Files, Paths, and Namespaces). */
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)\s*(\.|$)/i;

/** A clean name without its extension; the dot in `Plan 1.5 final` begins none. */
export const baseName = (name: string): string => name.replace(/(?<=.)\.[A-Za-z0-9]{1,10}$/, '');

/** `photo.png` made to `jpg` is `photo-filemill.jpg`. */
export const resultName = (sourceName: string, extension: string): string =>
  `${truncate(baseName(sourceName), MAX_BASE_BYTES)}${SUFFIX}.${extension}`;

/** Whole characters only, never more than `bytes` of UTF-8. */
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
