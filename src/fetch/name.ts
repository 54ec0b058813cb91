/** What a fetched file is called by its server. */

/**
 * From `Content-Disposition` (RFC 6266), else the last segment of the URL's path. Not cleaned: it may hold separators and anything else.
 * @returns empty where neither gives a name
 */
export function sentName(disposition: string | undefined, url: URL): string {
  return (disposition && (extended(disposition) || plain(disposition))) || unescaped(url.pathname.split('/').pop() ?? '');
}

/** `filename*=UTF-8''na%C3%AFve.txt` (RFC 8187, 3.2), preferred over the plain one (RFC 6266, 4.3). */
function extended(disposition: string): string | undefined {
  const [, charset = '', value = ''] = /;\s*filename\*\s*=\s*(utf-8|iso-8859-1)'[^']*'([^\s;]+)/i.exec(disposition) ?? [];
  return charset.toLowerCase() === 'utf-8' ? unescaped(value) : Buffer.from(decodeLatin1(value), 'latin1').toString('latin1');
}

function plain(disposition: string): string | undefined {
  const [, quoted, token] = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i.exec(disposition) ?? [];
  const bytes = Buffer.from(quoted?.replace(/\\(["\\])/g, '$1') ?? token ?? '', 'latin1');
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
