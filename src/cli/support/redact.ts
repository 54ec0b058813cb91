/** Takes out of texts what a stranger must not read: secrets, names of people, machines and files, addresses, and ids, which open a job's output. */
import { isIPv4, isIPv6 } from 'node:net';

/** Longer texts are cut first: what follows is of no use to a reader, and a text of megabytes is not searched. */
const LONGEST_TEXT = 4_000;
/** Shorter values are replaced where they stand alone: within other words they are no names. */
const SHORT_KNOWN = 4;
const SHORTEST_KNOWN = 2;
/** Says where a service listens, and nothing about whose it is. */
const HARMLESS_ADDRESSES = new Set(['127.0.0.1', '0.0.0.0', '::1', '::']);
/** Folders of every Debian. */
const SYSTEM_FOLDERS = /^\/(?:usr|bin|sbin|lib|lib64|sys|proc|dev|etc\/fonts|app)(?:\/|$)/;

export interface RedactorOptions {
  /** Replaced wherever they stand. */
  readonly secrets: readonly string[];
  /** Names of machines, folders, users and buckets, as the settings and the system have them. */
  readonly names: readonly string[];
  /** Texts that look like an address or an id and are none: versions of programs, and commits. */
  readonly kept: readonly string[];
}

export interface Redactor {
  /** A copy in which every text is clean, keys too. */
  clean(value: unknown): unknown;
  text(text: string): string;
  /** The same for words that another program may have written: quoted texts and whatever has the form of a file's or a host's name goes, too. */
  foreign(text: string): string;
}

/** One value always gets the same mark, so that a reader sees where it comes again. */
export function redactorOf({ secrets, names, kept }: RedactorOptions): Redactor {
  const marks = new Map<string, string>();
  const counts = new Map<string, number>();
  const mark = (kind: string, value: string): string =>
    marks.getOrInsertComputed(`${kind} ${value}`, () => {
      const number = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, number);
      return `<${kind}-${number}>`;
    });
  const keptTexts = new Set(kept);
  const known = [...secrets.map((value) => [value, 'secret'] as const), ...names.map((value) => [value, 'name'] as const)]
    .filter(([value]) => value.length >= SHORTEST_KNOWN)
    // The longest first: one may contain another.
    .sort(([a], [b]) => b.length - a.length);
  // A host's name is the same in whatever case; two values that differ in it alone have one mark.
  const short = new Map(known.filter(([value]) => value.length < SHORT_KNOWN).map(([value, kind]) => [value.toLowerCase(), kind] as const));
  const long = known
    .filter(([value]) => value.length >= SHORT_KNOWN)
    .map(([value, kind]) => ({ value: value.toLowerCase(), kind, form: new RegExp(RegExp.escape(value), 'gi') }));

  const address = (found: string): string =>
    keptTexts.has(found) || HARMLESS_ADDRESSES.has(found) || !(isIPv4(found) || isIPv6(found)) ? found : mark('address', found);
  const path = (found: string): string => (SYSTEM_FOLDERS.test(found) || isRoute(found) ? found : mark('path', found));
  const word = (found: string): string => {
    const kind = short.get(found.toLowerCase());
    return kind === undefined ? found : mark(kind, found.toLowerCase());
  };
  const text = (given: string): string => {
    let clean = given.slice(0, LONGEST_TEXT);
    for (const { value, kind, form } of long) clean = clean.replace(form, () => mark(kind, value));
    clean = eachPart(clean, /([^\w-]+)/, word);
    clean = clean.replace(/\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'<>]+/gi, (url) => mark('url', url));
    clean = eachPart(clean, /([\s"'<>(),;]+)/, (part) => (/[^@]@[^@]/.test(part) ? mark('mail', part) : part));
    return (
      clean
        // With a port behind it, or without.
        .replace(/(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d]|\.\d)/g, address)
        .replace(/(?<![\w.:])[0-9A-Fa-f:]{2,45}(?![\w:])/g, address)
        // Ids of jobs, uploads and batches, keys and hashes.
        .replace(/\b(?:upl_|bat_)?[0-9a-f]{12,}\b/gi, (id) => (keptTexts.has(id) ? id : mark('id', id)))
        .replace(/(?<![\w>/.])\/[^\s"'<>:,;()]+/g, path)
    );
  };
  const foreign = (given: string): string =>
    eachPart(
      withoutQuoted(text(given), (quoted) => mark('quoted', quoted)),
      /([\s"'<>()/]+)/,
      (part) => {
        const name = nameIn(part);
        return name === undefined || isOurs(name) ? part : part.replace(name, () => mark('name', name));
      },
    );

  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return value.map(clean);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), clean(inner)]));
  };
  return { clean, text, foreign };
}

/** Changes what stands between separators. @param separators one group, so that they stay */
const eachPart = (text: string, separators: RegExp, change: (part: string) => string): string =>
  text
    .split(separators)
    .map((part, at) => (at % 2 === 0 && part !== '' ? change(part) : part))
    .join('');

const QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", '`': '`', '“': '”' };

/** @param marked stands for a quoted text, with its quotes */
function withoutQuoted(text: string, marked: (quoted: string) => string): string {
  let clean = '';
  for (let at = 0; at < text.length; at++) {
    const close = QUOTES[text[at] ?? ''];
    const end = close === undefined ? -1 : text.indexOf(close, at + 1);
    // Words may have an apostrophe.
    if (end < 0 || /\w/.test(text[at - 1] ?? '')) clean += text[at];
    else {
      clean += marked(text.slice(at, end + 1));
      at = end;
    }
  }
  return clean;
}

/** The name of a file or a host in a word without blanks: letters after its last dot. */
function nameIn(word: string): string | undefined {
  const [bare = ''] = /^[^,;:!?]+/.exec(word) ?? [];
  const dot = bare.lastIndexOf('.', bare.endsWith('.') ? bare.length - 2 : bare.length);
  const name = bare.endsWith('.') ? bare.slice(0, -1) : bare;
  return dot > 0 && /^[a-z][a-z0-9]{1,9}$/i.test(name.slice(dot + 1)) ? name : undefined;
}

/** A route of the API has no file behind it: `/api/v1/jobs/:id`. */
const isRoute = (path: string): boolean =>
  /^\/(?:api\/v1|mcp|docs|metrics|livez|readyz|openapi\.json)(?:\/(?::?[a-z_-]+|<id-\d+>))*\/?$/.test(path);
/** A file of this program, as a stack names it. */
const isOurs = (name: string): boolean => /^[\w.-]+\.(?:ts|js)$/.test(name);
