/** The file name that a server gives to a download. */

/** Longer headers are cut, characters. */
const LONGEST_DISPOSITION = 4096;

/**
 * The name from `Content-Disposition` (RFC 6266), else the last segment of the URL's path. Not cleaned: it may contain separators.
 * @returns empty if neither gives a name
 */
export function sentName(disposition: string | undefined, url: URL): string {
  const given = parameters((disposition ?? '').slice(0, LONGEST_DISPOSITION));
  // The extended parameter takes precedence (RFC 6266, 4.3).
  return extended(given.get('filename*') ?? '') || plain(given.get('filename') ?? '') || unescaped(lastSegment(url.pathname));
}

const lastSegment = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** The parameters of the header (RFC 6266, 4.1) by name in lower case; of duplicates the first. Linear in the header's length. */
function parameters(disposition: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (let at = pastSemicolon(disposition, 0); at < disposition.length; ) {
    const equals = disposition.indexOf('=', at);
    if (equals < 0) break;
    const name = disposition.slice(disposition.lastIndexOf(';', equals) + 1, equals);
    const { value, end } = valueAt(disposition, equals + 1);
    const key = name.trim().toLowerCase();
    if (!found.has(key)) found.set(key, value);
    at = pastSemicolon(disposition, end);
  }
  return found;
}

const pastSemicolon = (text: string, from: number): number => {
  const at = text.indexOf(';', from);
  return at < 0 ? text.length : at + 1;
};

/** A token or a quoted string (RFC 9110, 5.6.4); an unclosed quote gives an empty value. */
function valueAt(text: string, from: number): { readonly value: string; readonly end: number } {
  let at = from;
  while (text.charAt(at) === ' ' || text.charAt(at) === '\t') at++;
  if (text.charAt(at) !== '"') {
    const end = pastSemicolon(text, at);
    return { value: (/^[^\s;]*/.exec(text.slice(at, end)) ?? [''])[0], end: at };
  }
  let value = '';
  for (let inside = at + 1; inside < text.length; inside++) {
    const character = text.charAt(inside);
    if (character === '"') return { value, end: inside + 1 };
    if (character === '\\') inside++;
    value += text.charAt(inside);
  }
  return { value: '', end: text.length };
}

/** `UTF-8''na%C3%AFve.txt` (RFC 8187, 3.2) */
function extended(value: string): string {
  const [, charset = '', text = ''] = /^(utf-8|iso-8859-1)'[^']*'(.+)$/i.exec(value) ?? [];
  return charset.toLowerCase() === 'utf-8' ? unescaped(text) : decodeLatin1(text);
}

function plain(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  // Servers send UTF-8 although the RFC says ISO 8859-1; text that is valid UTF-8 is hardly ever anything else.
  const text = bytes.toString('utf8');
  return text.includes('\ufffd') ? bytes.toString('latin1') : text;
}

const decodeLatin1 = (value: string): string =>
  value.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
