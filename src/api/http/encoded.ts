/** A body that many clients fetch: built once, compressed once in each coding, and answered with 304 where the client has it. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { matchesAny } from './etag.ts';

/** In the order of preference where a client likes them alike: the smallest first. */
const PACK = {
  br: (bytes: Buffer, isRare: boolean) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: isRare ? 4 : 9 } }),
  zstd: (bytes: Buffer, isRare: boolean) =>
    promisify(zstdCompress)(bytes, { params: { [constants.ZSTD_c_compressionLevel]: isRare ? 3 : 12 } }),
  gzip: (bytes: Buffer, isRare: boolean) => promisify(gzip)(bytes, { level: isRare ? 4 : 9 }),
} as const;
type Packing = keyof typeof PACK;
type Coding = Packing | 'identity';
export const packings = Object.keys(PACK) as readonly Packing[];

/** Below this, headers weigh more than what packing would save, bytes. */
export const WORTH_PACKING = 1024;

export interface EncodedBody {
  readonly contentType: string;
  readonly bytes: Buffer;
  readonly digest: string;
  /** One of many that few ask for: packing it must not take long. */
  readonly isRare: boolean;
  readonly packed: Map<Coding, Promise<Buffer>>;
}

export function encodedBody(contentType: string, content: string | Buffer, isRare = false): EncodedBody {
  const bytes = Buffer.from(content);
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  return { contentType, bytes, digest, isRare, packed: new Map([['identity', Promise.resolve(bytes)]]) };
}

/** @param isRare of many that few ask for: it must not take long */
export const compress = (bytes: Buffer, packing: Packing, isRare = false): Promise<Buffer> => PACK[packing](bytes, isRare);

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

/** Compresses it before a client asks. */
export async function pack(body: EncodedBody): Promise<void> {
  if (body.bytes.length < WORTH_PACKING) return;
  for (const packing of packings) await packedAs(body, packing);
}

function packedAs({ bytes, packed, isRare }: EncodedBody, coding: Coding): Promise<Buffer> {
  const known = packed.get(coding) ?? (coding === 'identity' ? Promise.resolve(bytes) : compress(bytes, coding, isRare));
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
  const [best = 'identity'] = packings.toSorted((a, b) => weightOf(b) - weightOf(a));
  return best !== 'identity' && weightOf(best) > 0 && weightOf(best) >= (weights.get('identity') ?? 0) ? best : 'identity';
}
