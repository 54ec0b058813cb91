/** The text inside a file, taken out without any of the engines under test. */
import { readFile } from 'node:fs/promises';
import { type Entry, fromBuffer, type ZipFile } from 'yauzl';

/** @returns every part by its path inside, in the order of the central directory */
export async function unzip(bytes: Buffer): Promise<Map<string, Buffer>> {
  const zip = await new Promise<ZipFile>((done, failed) =>
    fromBuffer(bytes, { lazyEntries: true }, (error, opened) => (error ? failed(error) : done(opened))),
  );
  const parts = new Map<string, Buffer>();
  return new Promise((done, failed) => {
    zip.on('error', failed);
    zip.on('end', () => done(parts));
    zip.on('entry', (entry: Entry) => {
      zip.openReadStream(entry, (error, stream) => {
        if (error) return failed(error);
        const chunks: Buffer[] = [];
        stream.on('error', failed);
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          parts.set(entry.fileName, Buffer.concat(chunks));
          zip.readEntry();
        });
      });
    });
    zip.readEntry();
  });
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

export const unescapeXml = (text: string): string =>
  text.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return decimal === undefined ? (NAMED[name] ?? whole) : String.fromCodePoint(Number(decimal));
  });

/** Tags inside a line: all others end one. */
const INLINE = /<\/?(?:text:span|text:a|span|b|i|u|em|strong|a|font|sup|sub|emphasis|ulink|link)(?:\s[^>]*)?>/gi;

/** The text of XML or HTML, one block a line; attributes, comments, styles and scripts left out. */
export function textOfXml(xml: string): string {
  return unescapeXml(
    xml
      .replace(/<!--[\s\S]*?-->|<(style|script|head)\b[\s\S]*?<\/\1>/gi, '\n')
      .replace(/<text:s(?:\s[^>]*)?\/>/g, ' ')
      .replace(/\s+/g, ' ')
      .replace(INLINE, '')
      .replace(/<[^>]*>/g, '\n'),
  );
}

/** The text of Office Open XML: runs of a paragraph belong together. @param space `w` or `a` */
export function textOfRuns(xml: string, space: 'w' | 'a'): string {
  const paragraphs = xml.split(`</${space}:p>`);
  const run = new RegExp(`<${space}:t(?: [^>]*)?>([^<]*)</${space}:t>`, 'g');
  return paragraphs.map((paragraph) => [...paragraph.matchAll(run)].map(([, text]) => unescapeXml(text ?? '')).join('')).join('\n');
}

/** Throws where tags do not match: not a validator, but no truncated or mixed-up file passes. */
export function expectWellFormed(xml: string, what: string): void {
  const open: string[] = [];
  const bare = xml.replace(/<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[[\s\S]*?\]\]>|<!DOCTYPE[^>[]*(\[[^\]]*\])?[^>]*>/g, '');
  for (const [tag, closing, name = ''] of bare.matchAll(/<(\/?)([\w:.-]+)(?:"[^"]*"|'[^']*'|[^>"'])*>/g)) {
    if (closing === '/') {
      if (open.pop() !== name) throw new Error(`${what}: unexpected </${name}>`);
    } else if (!tag.endsWith('/>')) open.push(name);
  }
  if (open.length > 0 || !bare.includes('<')) throw new Error(`${what}: <${open.at(-1) ?? 'anything'}> is never closed`);
}

/** Text of RTF: groups that are no text left out, `\uN` and `\'hh` decoded. */
export function textOfRtf(rtf: string): string {
  return rtf
    .replace(/\{\\\*[^{}]*\}/g, '')
    .replace(/\\u(-?\d+) ?(?:\\'[\da-f]{2}|\?)?/g, (_, code) => String.fromCharCode(Number(code) & 0xffff))
    .replace(/\\'([\da-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/\\(par|cell|row|line|tab|page|sect)\b ?/g, '\n')
    .replace(/\\[a-z]+-?\d* ?|[{}\r]/g, '');
}

/** Decodes strictly. @throws where the bytes are no UTF-8 */
export const readUtf8 = async (path: string): Promise<string> => new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
