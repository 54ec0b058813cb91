/** A web page that a browser or a word processor saved with its pictures and style sheets, each a part of one message (MHTML, RFC 2557). */
import { buffer } from 'node:stream/consumers';
import { type MimeNode, Splitter } from '@zone-eu/mailsplit';
import { beyond, FileRefused } from '../../data/values/value.ts';
import { encodingOf } from '../../text/charset.ts';
import { decodeWords, type MailedFile } from './messages.ts';

/** More than any page needs. */
const MOST_PARTS = 10_000;
/** Nested parts. */
const MOST_LEVELS = 50;
/** Characters of a URL that others are resolved against: each of them costs as much. */
export const LONGEST_BASE = 2000;
/** What RFC 2557 (5) resolves relative URLs against where nothing else is named. */
const NOWHERE = 'thismessage:/';

export interface ArchivedPart extends MailedFile {
  readonly charset: string | undefined;
  /** An absolute URL; undefined where its header names none. */
  readonly location: string | undefined;
  /** What its references are resolved against. */
  readonly base: string;
}

export interface WebArchive {
  /** Names and values of its header, where it is one of a message. */
  readonly fields: readonly (readonly [string, string])[];
  readonly subject: string;
  readonly page: ArchivedPart;
  /** All others. */
  readonly parts: readonly ArchivedPart[];
}

/** @throws FileRefused */
export async function webArchiveIn(file: Buffer): Promise<WebArchive> {
  const bodies = await bodiesIn(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EMAXLEN')
      throw new FileRefused('input_limit', 'The web archive has too many parts, or a part has too long a header.');
    throw error;
  });
  const [root] = bodies.keys();
  if (root === undefined) throw new FileRefused('corrupt_input');
  const baseOf = basesOf();
  const parts: ArchivedPart[] = [];
  for (const [node, chunks] of bodies)
    if (node.multipart === false) parts.push(await partOf(node, Buffer.concat(chunks), baseOf(node), parts.length));
  const start = bare(/\bstart\s{0,9}=\s{0,9}"?(<[^>"]{1,500}>|[^\s;"]{1,500})/i.exec(headerOf(root, 'Content-Type'))?.[1] ?? '');
  const isPage = ({ type }: ArchivedPart) => type === 'text/html' || type === 'application/xhtml+xml';
  const page = parts.find((part) => start !== '' && part.id === start && isPage(part)) ?? parts.find(isPage);
  if (page === undefined) throw new FileRefused('corrupt_input', 'There is no page in the web archive.');
  const subject = decodeWords(headerOf(root, 'Subject'));
  return { fields: fieldsOf(root), subject, page, parts: parts.filter((part) => part !== page) };
}

/** The bytes of each part, in the file's order, as they are encoded. */
async function bodiesIn(file: Buffer): Promise<ReadonlyMap<MimeNode, Buffer[]>> {
  const splitter = new Splitter({ ignoreEmbedded: true, maxChildNodes: MOST_PARTS });
  const bodies = new Map<MimeNode, Buffer[]>();
  splitter.end(file);
  for await (const chunk of splitter) {
    const found = chunk as MimeNode | { readonly type: 'body' | 'data'; readonly node: MimeNode; readonly value: Buffer };
    if (found.type === 'node') {
      if (levelOf(found) > MOST_LEVELS) throw beyond('parts in each other', MOST_LEVELS);
      bodies.set(found, []);
    } else if (found.type === 'body') bodies.get(found.node)?.push(found.value);
  }
  return bodies;
}

function levelOf(node: MimeNode): number {
  let level = 0;
  for (let at = node.parentNode; at !== false; at = at.parentNode) level++;
  return level;
}

async function partOf(node: MimeNode, encoded: Buffer, base: string, index: number): Promise<ArchivedPart> {
  const location = locationIn(node) === '' ? undefined : base;
  const name = node.filename === false ? lastOf(location ?? '') : node.filename;
  return {
    name: name === '' ? `part-${index + 1}` : name,
    type: node.contentType === false ? 'text/plain' : node.contentType,
    charset: node.charset === false ? undefined : encodingOf(node.charset),
    id: bare(headerOf(node, 'Content-ID')) || undefined,
    location,
    base,
    bytes: await buffer(node.getDecoder().end(encoded)),
  };
}

/** Saved pages name none that is of use: programs stand there as senders. */
function fieldsOf(root: MimeNode): readonly (readonly [string, string])[] {
  if (headerOf(root, 'To') === '') return [];
  const fields = ['From', 'To', 'Cc', 'Date', 'Subject'].map((name) => [name, decodeWords(headerOf(root, name))] as const);
  return fields.filter(([, value]) => value !== '');
}

const headerOf = ({ headers }: MimeNode, name: string): string => (headers === false ? '' : headers.getFirst(name));
const bare = (id: string): string => id.trim().replace(/^<|>$/g, '');
/** Long URLs are folded (RFC 2557, 4.4.2). */
const locationIn = (node: MimeNode): string =>
  (headerOf(node, 'Content-Location') || headerOf(node, 'Snapshot-Content-Location')).replace(/\s+/g, '');

/** @returns what the references in a part are resolved against: its own location, or that of the nearest part that it is in */
function basesOf(): (node: MimeNode) => string {
  const known = new Map<MimeNode, string>();
  const baseOf = (node: MimeNode): string =>
    known.getOrInsertComputed(node, () => {
      const above = node.parentNode === false ? NOWHERE : baseOf(node.parentNode);
      const own = locationIn(node);
      return own === '' ? above : resolved(own, above);
    });
  return baseOf;
}

/** An absolute URL without its fragment; the reference itself where it is none. */
export function resolved(reference: string, base: string): string {
  const url = URL.parse(reference, base.length > LONGEST_BASE ? NOWHERE : base);
  if (url === null) return reference;
  url.hash = '';
  return url.href;
}

/** The last part of a URL's path. */
function lastOf(location: string): string {
  const path = URL.parse(location)?.pathname ?? '';
  const last = path.slice(path.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
