/** What a call's `file` stands for: one text that is a URL, an upload's id, or the content itself. */
import { formats } from '../../catalog/formats.ts';
import { jobIdPattern } from '../../contracts/job.ts';
import { uploadIdPattern } from '../../contracts/upload.ts';
import { Failure, fileTooLarge } from '../../errors.ts';

export type FileWord =
  | { readonly is: 'url'; readonly url: string }
  | { readonly is: 'upload'; readonly id: string }
  /** The output of a job of this service. */
  | { readonly is: 'output'; readonly job: string }
  | { readonly is: 'content'; readonly bytes: Buffer; readonly name: string };

interface Surroundings {
  /** What URLs of this service begin with. */
  readonly base: string;
  /** Bytes that content may still have in this call. */
  readonly maxInlineBytes: number;
}

/** @throws Failure `NO_FILE`, `BAD_REQUEST`, `FILE_TOO_LARGE`, `URL_REFUSED` */
export function readFileWord(sent: string, { base, maxInlineBytes }: Surroundings): FileWord {
  const text = sent.trim();
  if (text === '') throw new Failure('NO_FILE', { says: 'The file is empty.' });
  if (uploadIdPattern.test(text)) return { is: 'upload', id: text };
  if (/^data:/i.test(text)) return dataUri(text, maxInlineBytes, base);
  if (/^[a-z][a-z0-9+.-]*:/i.test(text.slice(0, 40))) return ownOutput(text, base) ?? { is: 'url', url: text };
  return { is: 'content', bytes: base64(text, maxInlineBytes, base), name: '' };
}

/** Our own addresses are never fetched: an output is read from the store, and anything else would only ask ourselves. */
function ownOutput(text: string, base: string): FileWord | undefined {
  const url = URL.parse(text);
  const own = new URL(base);
  if (url === null || url.host !== own.host) return undefined;
  const under = own.pathname.replace(/\/$/, '');
  const job = /^\/api\/v1\/jobs\/([^/]+)\/output\/?$/.exec(url.pathname.slice(under.length))?.[1];
  if (url.pathname.startsWith(`${under}/`) && job !== undefined && jobIdPattern.test(job)) return { is: 'output', job };
  const says = 'The URL is one of this service, and no output of a job: give the output URL of an earlier result.';
  throw new Failure('URL_REFUSED', { says, details: { reason: 'address' } });
}

/** RFC 2397: base64, or octets as they are; in both, some may be escaped. */
function dataUri(text: string, most: number, base: string): FileWord {
  const comma = text.slice(0, 1_000).indexOf(',');
  if (comma < 0) throw notRead(base);
  const [type = '', ...rest] = text.slice('data:'.length, comma).toLowerCase().split(';');
  const extension = [...formats.values()].find(({ mime }) => mime === type.trim())?.id;
  const name = extension === undefined ? '' : `file.${extension}`;
  const content = text.slice(comma + 1);
  const isBase64 = rest.some((word) => word.trim() === 'base64');
  if (isBase64)
    return { is: 'content', bytes: base64(content.includes('%') ? unescaped(content).toString('latin1') : content, most, base), name };
  const bytes = unescaped(content);
  if (bytes.length > most) throw tooLarge(most, bytes.length, base);
  return { is: 'content', bytes, name };
}

/** RFC 4648 §4, with padding; ASCII white space between is passed over. */
function base64(text: string, most: number, base: string): Buffer {
  const dense = /[\t\n\f\r ]/.test(text) ? text.replace(/[\t\n\f\r ]+/g, '') : text;
  const padding = dense.endsWith('==') ? 2 : dense.endsWith('=') ? 1 : 0;
  // Looked for is what must not be there: a loop over all that may would keep a place of each to come back to.
  if (dense === '' || dense.length % 4 !== 0 || /[^A-Za-z0-9+/]/.test(dense.slice(0, dense.length - padding))) throw notRead(base);
  const size = (dense.length / 4) * 3 - padding;
  if (size > most) throw tooLarge(most, size, base);
  return Buffer.from(dense, 'base64');
}

/** RFC 3986 §2.1; a sign that begins no escape stands for itself. */
function unescaped(text: string): Buffer {
  const bytes = Buffer.from(text);
  let size = 0;
  for (let at = 0; at < bytes.length; at++) {
    const isEscape = bytes[at] === 0x25 && /^[0-9a-f]{2}$/i.test(bytes.toString('latin1', at + 1, at + 3));
    bytes[size++] = isEscape ? Number.parseInt(bytes.toString('latin1', at + 1, at + 3), 16) : (bytes[at] ?? 0);
    if (isEscape) at += 2;
  }
  return bytes.subarray(0, size);
}

const upload = (base: string): string =>
  `POST the file to ${base}/api/v1/uploads (curl -F file=@PATH), and give the upload_id of the answer.`;

const notRead = (base: string): Failure =>
  new Failure('BAD_REQUEST', {
    says: `The file is neither an https URL, nor an upload id, nor whole base64 (RFC 4648 §4, with padding). A path cannot be read from here: ${upload(base)}`,
  });

function tooLarge(most: number, received: number, base: string): Failure {
  const { code, details } = fileTooLarge(most, received);
  return new Failure(code, { says: `Files inside a call may have ${most} bytes together: ${upload(base)}`, details });
}
