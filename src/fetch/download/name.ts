/** What a fetched file is called by its server. */

/** Of a header, characters: what lies beyond is not looked at. */
const LONGEST_DISPOSITION = 4096;

/**
 * From `Content-Disposition` (RFC 6266), else the last segment of the URL's path. Not cleaned: it may hold separators and anything else.
 * @returns empty where neither gives a name
 */
export function sentName(disposition: string | undefined, url: URL): string {
  const given = parameters((disposition ?? '').slice(0, LONGEST_DISPOSITION));
  // The extended one goes before the plain one (RFC 6266, 4.3).
  return extended(given.get('filename*') ?? '') || plain(given.get('filename') ?? '') || unescaped(lastSegment(url.pathname));
}

const lastSegment = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** What follows the disposition's type (RFC 6266, 4.1), names in lower case, of each the first; each character is looked at once. */
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

/** A word, or a quoted string (RFC 9110, 5.6.4); a quote that nobody closes is a word's. */
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
  // Servers send UTF-8 where the RFC has ISO 8859-1; what is valid UTF-8 is hardly ever anything else.
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
