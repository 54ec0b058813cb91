/** What an e-mail has: headers, text, attached files, pictures in its text (RFC 5322, RFC 2045 to 2047). */
import type { Pieces } from '../../pieces.ts';
import { wholeOf } from '../bytes.ts';
import type { DocumentFacts } from '../documents/facts.ts';
import { pageFacts } from '../documents/page.ts';
import { distinctWords } from '../words.ts';

export interface MailFacts {
  /** By name, the words of each. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly attachments: number;
  /** Pictures that its text shows. */
  readonly inlinePictures: number;
}

const SHOWN = ['from', 'to', 'cc', 'date', 'subject'] as const;
const MOST_PARTS = 1_000;
const MOST_LEVELS = 20;

interface Part {
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export function mailFacts(file: Pieces): { readonly mail: MailFacts; readonly document: DocumentFacts } {
  const whole = partIn(wholeOf(file).toString('latin1'));
  const leaves = leavesOf(whole);
  const texts = leaves.filter((part) => isText(part));
  const pages = texts.filter((part) => typeOf(part) === 'text/html').map((part) => pageFacts(decodedText(part)).document);
  const plain = texts.filter((part) => typeOf(part) === 'text/plain').map(decodedText);
  // What a reader sees: the page where there is one, and else the plain text.
  const words = pages.length > 0 ? pages.flatMap((page) => page?.words ?? []) : plain.flatMap(distinctWords);
  const shown = new Set(texts.filter((part) => typeOf(part) === 'text/html').flatMap((part) => namedIn(decodedText(part))));
  const files = leaves.filter((part) => !isText(part));
  const inline = files.filter(({ headers }) => shown.has((headers.get('content-id') ?? '').replace(/^<|>$/g, '')));
  const headers = Object.fromEntries(
    SHOWN.flatMap((name) => {
      const value = whole.headers.get(name);
      return value === undefined || value === '' ? [] : [[name, distinctWords(decodedHeader(value))]];
    }),
  );
  return {
    mail: { headers, attachments: files.length - inline.length, inlinePictures: inline.length },
    document: { words: [...new Set(words)], links: Math.max(0, ...pages.map((page) => page?.links ?? 0)) },
  };
}

function partIn(text: string): Part {
  const gap = /\r?\n\r?\n/.exec(text);
  const end = gap?.index ?? text.length;
  const headers = new Map<string, string>();
  for (const line of text
    .slice(0, end)
    .replace(/\r?\n[ \t]+/g, ' ')
    .split(/\r?\n/)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).toLowerCase();
    if (name !== '' && !headers.has(name)) headers.set(name, line.slice(colon + 1).trim());
  }
  return { headers, body: text.slice(end + (gap?.[0].length ?? 0)) };
}

const typeOf = ({ headers }: Part): string => (headers.get('content-type') ?? 'text/plain').split(';', 1)[0]?.trim().toLowerCase() ?? '';
const isText = (part: Part): boolean =>
  ['text/plain', 'text/html'].includes(typeOf(part)) && !/^\s*attachment/i.test(part.headers.get('content-disposition') ?? '');

function parameter(value: string, name: string): string | undefined {
  const found = value.toLowerCase().indexOf(`${name}=`);
  const rest = found < 0 ? undefined : value.slice(found + name.length + 1);
  return rest?.startsWith('"') ? rest.slice(1).split('"', 1)[0] : rest?.split(/[;\s]/, 1)[0];
}

/** Parts that have no parts, without the bounds of nested ones. */
function leavesOf(whole: Part): readonly Part[] {
  const leaves: Part[] = [];
  const walk = (part: Part, level: number): void => {
    const boundary = typeOf(part).startsWith('multipart/') ? parameter(part.headers.get('content-type') ?? '', 'boundary') : undefined;
    if (leaves.length >= MOST_PARTS || level > MOST_LEVELS) return;
    if (boundary === undefined || boundary === '') {
      leaves.push(part);
      return;
    }
    const pieces = `\n${part.body}`.split(`\n--${boundary}`).slice(1, MOST_PARTS);
    for (const piece of pieces) if (!piece.startsWith('--')) walk(partIn(piece.replace(/^[^\n]{0,200}\n/, '')), level + 1);
  };
  walk(whole, 0);
  return leaves;
}

function decodedText({ headers, body }: Part): string {
  const encoding = (headers.get('content-transfer-encoding') ?? '').toLowerCase();
  const bytes =
    encoding === 'base64'
      ? Buffer.from(body, 'base64')
      : encoding === 'quoted-printable'
        ? unquoted(body.replace(/=\r?\n/g, ''))
        : Buffer.from(body, 'latin1');
  return inCharset(bytes, parameter(headers.get('content-type') ?? '', 'charset') ?? 'utf-8');
}

const unquoted = (text: string): Buffer =>
  Buffer.from(
    text.replace(/=([\dA-F]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    'latin1',
  );

function inCharset(bytes: Uint8Array, charset: string): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder('latin1').decode(bytes);
  }
}

/** RFC 2047. Between two of its words, spaces do not count. */
function decodedHeader(value: string): string {
  const plain = Buffer.from(value, 'latin1').toString();
  return plain
    .replace(/\?=\s{1,9}=\?/g, '?==?')
    .replace(/=\?([\w-]{1,40})\?([BQ])\?([^?\s]{0,2000})\?=/gi, (_, charset: string, by: string, text: string) =>
      inCharset(by.toUpperCase() === 'B' ? Buffer.from(text, 'base64') : unquoted(text.replaceAll('_', ' ')), charset),
    );
}

const namedIn = (html: string): readonly string[] => [...html.matchAll(/["'(]cid:([^"')\s]{1,200})/gi)].map(([, id = '']) => id);
