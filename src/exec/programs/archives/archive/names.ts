/** Reads the bytes of a name in an archive. */

/** The upper half of code page 437. */
const CP437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■ ';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @returns UTF-8 where it is that, else the text in the encoding of ZIP (APPNOTE 4.4.4) */
export function decodeEntryName(bytes: Uint8Array): { readonly text: string; readonly isGuessed: boolean } {
  try {
    return { text: utf8.decode(bytes), isGuessed: false };
  } catch {
    const text = Array.from(bytes, (byte) => (byte < 128 ? String.fromCharCode(byte) : (CP437[byte - 128] ?? '_'))).join('');
    return { text, isGuessed: true };
  }
}
