/** A body that many clients fetch: built once, compressed once in each coding, and answered with 304 where the client has it. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { matchesAny } from './etag.ts';

/** In the order of preference where a client likes them alike: the smallest first. */
const PACK = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  zstd: (bytes: Buffer) => promisify(zstdCompress)(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 12 } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes, { level: 9 }),
} as const;
type Coding = keyof typeof PACK | 'identity';
const CODINGS = Object.keys(PACK) as (keyof typeof PACK)[];

/** Below this, headers weigh more than what packing would save, bytes. */
const WORTH_PACKING = 1024;

export interface EncodedBody {
  readonly contentType: string;
  readonly bytes: Buffer;
  readonly digest: string;
  readonly packed: Map<Coding, Promise<Buffer>>;
}

export function encodedBody(contentType: string, content: string | Buffer): EncodedBody {
  const bytes = Buffer.from(content);
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  return { contentType, bytes, digest, packed: new Map([['identity', Promise.resolve(bytes)]]) };
}

/**
 * Answers 304 to a client that has it; a strong tag names one coding (RFC 9110 §8.8.3.3).
 * @param caching `Cache-Control`: by default clients ask each time whether they have the latest
 */
export async function sendEncoded(
  request: FastifyRequest,
  reply: FastifyReply,
  body: EncodedBody,
  caching = 'no-cache',
): Promise<FastifyReply> {
  const { bytes, digest, contentType } = body;
  const coding = bytes.length < WORTH_PACKING ? 'identity' : preferred(request.headers['accept-encoding']);
  const etag = coding === 'identity' ? `"${digest}"` : `"${digest}-${coding}"`;
  varyBy(reply, 'Accept-Encoding').headers({ etag, 'cache-control': caching });
  if (matchesAny(request.headers['if-none-match'], etag)) return reply.code(304).send();
  if (coding !== 'identity') reply.header('content-encoding', coding);
  return reply.type(contentType).send(await packedAs(body, coding));
}

/** Tells caches that an answer also follows this header of its request (RFC 9110 §12.5.5). */
export const varyBy = (reply: FastifyReply, header: string): FastifyReply =>
  reply.header('vary', [reply.getHeader('vary') ?? [], header].flat().join(', '));

/** A proxy serves us below one prefix, as a rule: what was built for the last one is kept. */
export function latestOf(build: (prefix: string) => EncodedBody): (prefix: string) => EncodedBody {
  let latest: { readonly prefix: string; readonly body: EncodedBody } | undefined;
  return (prefix) => {
    if (latest?.prefix !== prefix) latest = { prefix, body: build(prefix) };
    return latest.body;
  };
}

/** Compresses it before anybody asks. */
export async function pack(body: EncodedBody): Promise<void> {
  if (body.bytes.length < WORTH_PACKING) return;
  for (const coding of CODINGS) await packedAs(body, coding);
}

function packedAs({ bytes, packed }: EncodedBody, coding: Coding): Promise<Buffer> {
  const known = packed.get(coding) ?? (coding === 'identity' ? Promise.resolve(bytes) : PACK[coding](bytes));
  packed.set(coding, known);
  return known;
}

/** The coding that the client likes best (RFC 9110 §12.5.3), and of equals the smallest. */
export function preferred(header: string | undefined): Coding {
  const weights = new Map(
    (header ?? '').split(',').map((requestOptions) => {
      const [name = '', ...parameters] = requestOptions.split(';').map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
      return [name, weight === undefined ? 1 : Number(weight) || 0] as const;
    }),
  );
  const weightOf = (coding: string) =>
    weights.get(coding) ?? (coding === 'gzip' ? weights.get('x-gzip') : undefined) ?? weights.get('*') ?? 0;
  const [best = 'identity'] = CODINGS.toSorted((a, b) => weightOf(b) - weightOf(a));
  return best !== 'identity' && weightOf(best) > 0 && weightOf(best) >= (weights.get('identity') ?? 0) ? best : 'identity';
}
