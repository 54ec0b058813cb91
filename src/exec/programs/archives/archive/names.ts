/** Names of entries as they may be in an archive: relative, with slashes, leading nowhere but into its own folders. */

/** Bytes: what Linux, macOS and Windows can have. */
const MAX_NAME = 4096;
const MAX_PART = 255;

/** The upper half of code page 437. */
const CP437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■ ';

/** Names that Windows reserves for devices, with any extension (Naming Files, Paths, and Namespaces; CreateFile, "Consoles"). */
const RESERVED = /^(?:con|conin\$|conout\$|prn|aux|nul|(?:com|lpt)[\d¹²³])\s*(?:\.|$)/i;

/** @param name of a file or folder @returns the name with a mark before it where Windows would open a device */
export const asFileOfWindows = (name: string): string => (RESERVED.test(name) ? `_${name}` : name);

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @returns an empty name for the archive's own folder, and none where it would lead out of it, also on a system that parts names by backslashes */
export function safeName(bytes: Uint8Array): { readonly name: string | undefined; readonly isGuessed: boolean } {
  const { text, isGuessed } = decode(bytes);
  const parts = text
    .replace(/^(?:[A-Za-z]:(?=[\\/]|$)|[\\/])+/, '')
    // A drive without a folder after it.
    .replace(/^([A-Za-z]):/, '$1_')
    // A terminal would obey them, and lists of files break at them.
    .replace(/[\0-\x1f\x7f]/g, '_')
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  const leadsOut = parts.some((part) => part.split('\\').includes('..'));
  const isTooLong = bytes.length > MAX_NAME || parts.some((part) => Buffer.byteLength(part) > MAX_PART);
  return { name: leadsOut || isTooLong ? undefined : parts.join('/'), isGuessed };
}

function decode(bytes: Uint8Array): { readonly text: string; readonly isGuessed: boolean } {
  try {
    return { text: utf8.decode(bytes), isGuessed: false };
  } catch {
    const text = Array.from(bytes, (byte) => (byte < 128 ? String.fromCharCode(byte) : (CP437[byte - 128] ?? '_'))).join('');
    return { text, isGuessed: true };
  }
}
