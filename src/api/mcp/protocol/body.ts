/** Reads one request's JSON into memory. It may hold a file: each body is limited, and all bodies together are. */
import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { Failure, fileTooLarge } from '../../../errors.ts';
import type { Client } from '../../../limits/clients/client.ts';
import { readBlocks } from '../../http/blocks.ts';
import { JsonBudget } from '../../http/json-budget.ts';
import type { ApiSettings } from '../../settings.ts';
import { INVALID_REQUEST, Malformed, PARSE_ERROR } from './refusal.ts';

/** Bytes of requests that are in memory now. */
export interface MemoryInUse {
  bytes: number;
  /** By client: no client may use up the memory of all. */
  readonly of: Map<string, number>;
}

export const noMemoryInUse = (): MemoryInUse => ({ bytes: 0, of: new Map() });

/** A client's share of the memory; a shared address gets a multiple. */
const PART = 1 / 4;

/** A message without a file is no longer than this: it is served even while large ones are refused. */
export const SMALL_BYTES = 64 * 1024;

export interface Body {
  readonly message: unknown;
  /** To be called when the message has left memory. May be called twice. */
  readonly release: () => void;
}

interface Reader {
  readonly client: Client;
  /** Whether it may create jobs: from any other client no body is read that could hold a file. */
  readonly mayWork: boolean;
}

/** A client that may create no jobs sent, or announced, more than a small message. */
export class NotAdmitted extends Error {
  override readonly name = 'NotAdmitted';
}

/** @throws Failure `UNSUPPORTED_MIME`, `FILE_TOO_LARGE`, `BODY_TIMEOUT`, `OVERLOADED`, `BAD_REQUEST` · NotAdmitted · Malformed */
export async function readBody(
  request: IncomingMessage,
  { client, mayWork }: Reader,
  settings: ApiSettings,
  held: MemoryInUse,
): Promise<Body> {
  const most = settings.mcp.maxRequestBytes;
  checkType(request);
  const { key, multiple } = client;
  const share = Math.max(most, settings.mcp.heldBytes * PART) * multiple;
  let mine = 0;
  const hold = (bytes: number) => {
    mine += bytes;
    held.bytes += bytes;
    const left = (held.of.get(key) ?? 0) + bytes;
    if (left > 0) held.of.set(key, left);
    else held.of.delete(key);
  };
  const release = () => hold(-mine);
  /** @param received bytes of this request, or as many as it announces */
  const checkSize = (received: number) => {
    if (received > most) throw tooLarge(most, received);
    if (received <= SMALL_BYTES) return;
    if (!mayWork) throw new NotAdmitted('this client may not create jobs');
    if (held.bytes > settings.mcp.heldBytes || (held.of.get(key) ?? 0) > share) throw new Failure('OVERLOADED');
  };
  checkSize(Number(request.headers['content-length'] ?? 0));
  const budget = new JsonBudget({ bytes: SMALL_BYTES, tooLong: (received) => tooLarge(SMALL_BYTES, received), carriers: true });
  const text = textOf();
  let bytes = 0;
  try {
    await readBlocks(request, settings, (block) => {
      bytes += block.length;
      judge(budget, block);
      hold(text.take(block));
      checkSize(bytes);
    });
    return { message: await text.parse(), release };
  } catch (error) {
    release();
    throw error;
  }
}

/** @throws Failure `FILE_TOO_LARGE` · Malformed */
function judge(budget: JsonBudget, block: Buffer): void {
  try {
    budget.take(block);
  } catch (error) {
    throw error instanceof Failure && error.code === 'BAD_REQUEST' ? new Malformed(INVALID_REQUEST, error.message) : error;
  }
}

/** @throws Failure `UNSUPPORTED_MIME` */
function checkType({ headers }: IncomingMessage): void {
  const type = headers['content-type']?.slice(0, 200).split(';')[0]?.trim().toLowerCase();
  if (type === 'application/json') return;
  const details = { detected: type ?? null, accepted: ['application/json'] };
  throw new Failure('UNSUPPORTED_MIME', { says: 'The request must have the Content-Type application/json.', details });
}

/** Decodes as bytes arrive: decoding 16 MiB at once would block all other requests. */
function textOf(): { readonly take: (block: Buffer) => number; readonly parse: () => Promise<unknown> } {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const pieces: string[] = [];
  const decode = (block?: Buffer): string => {
    try {
      return block === undefined ? decoder.decode() : decoder.decode(block, { stream: true });
    } catch {
      throw new Malformed(PARSE_ERROR, 'The request is not valid JSON.');
    }
  };
  return {
    /** @returns bytes that the text takes in memory: two for each character beyond ASCII */
    take(block) {
      const piece = decode(block);
      pieces.push(piece);
      return piece.length === block.length ? block.length : 2 * piece.length;
    },
    async parse() {
      pieces.push(decode());
      const isLarge = pieces.length > 4;
      const text = pieces.join('');
      pieces.length = 0;
      // Each step takes a while for a large text: other requests are served in between.
      if (isLarge) await setImmediate();
      try {
        return JSON.parse(text);
      } catch {
        throw new Malformed(PARSE_ERROR, 'The request is not valid JSON.');
      } finally {
        if (isLarge) await setImmediate();
      }
    },
  };
}

function tooLarge(most: number, received: number): Failure {
  const says =
    most === SMALL_BYTES
      ? `A message may have at most ${most} bytes; only a file inside an argument of tools/call may have more.`
      : `The request is larger than ${most} bytes: POST the file to /api/v1/uploads, and pass its upload id instead of the file.`;
  return fileTooLarge(most, received).with({ says });
}
