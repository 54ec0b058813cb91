/** Reads one request's JSON into memory, where a file may stand in it: bounded each for itself, and all together. */
import type { FastifyRequest } from 'fastify';
import { Failure, fileTooLarge } from '../../errors.ts';
import type { Client } from '../../limits/client.ts';
import { askForBody } from '../expect.ts';
import { watchPace } from '../pace.ts';
import type { ApiSettings } from '../settings.ts';
import { Malformed, PARSE_ERROR } from './refusal.ts';

/** Bytes of requests that are in memory now. */
export interface Held {
  bytes: number;
  /** Of each client that has any: nobody may keep the others out. */
  readonly of: Map<string, number>;
}

export const nothingHeld = (): Held => ({ bytes: 0, of: new Map() });

/** A client's part of all that may be held; of a shared address a multiple. */
const PART = 1 / 4;

/** As much as any call without a file has: served even while large ones are turned away. */
const SMALL_BYTES = 64 * 1024;

export interface Body {
  readonly message: unknown;
  /** To be called when what it says is not in memory any more. Twice is no error. */
  readonly release: () => void;
}

/** @throws Failure `UNSUPPORTED_MIME`, `FILE_TOO_LARGE`, `BODY_TIMEOUT`, `OVERLOADED`, `BAD_REQUEST` · Malformed */
export async function readBody({ raw }: FastifyRequest, client: Client, settings: ApiSettings, held: Held): Promise<Body> {
  const most = settings.mcp.maxRequestBytes;
  const type = raw.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    const details = { detected: type ?? null, accepted: ['application/json'] };
    throw new Failure('UNSUPPORTED_MIME', { says: 'The request must be of type application/json.', details });
  }
  const declared = Number(raw.headers['content-length'] ?? 0);
  if (declared > most) throw tooLarge(most, declared);
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
  const isFull = () => mine > SMALL_BYTES && (held.bytes > settings.mcp.heldBytes || (held.of.get(key) ?? 0) > share);
  const release = () => hold(-mine);
  const failed = new AbortController();
  const unwatch = watchPace(raw, settings, () => failed.abort(new Failure('BODY_TIMEOUT')));
  const chunks: Buffer[] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      failed.signal.addEventListener('abort', () => reject(failed.signal.reason), { once: true });
      raw.on('data', (chunk: Buffer) => {
        hold(chunk.length);
        if (mine > most) reject(tooLarge(most, mine));
        else if (isFull()) reject(new Failure('OVERLOADED'));
        else chunks.push(chunk);
      });
      raw.once('end', resolve);
      raw.once('close', () => reject(new Failure('BAD_REQUEST', { says: 'The request is incomplete.' })));
      raw.once('error', reject);
      askForBody(raw);
    });
    return { message: parse(chunks), release };
  } catch (error) {
    release();
    throw error;
  } finally {
    unwatch();
    raw.removeAllListeners('data');
  }
}

function parse(chunks: readonly Buffer[]): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    throw new Malformed(PARSE_ERROR, 'The request is no JSON.');
  }
}

function tooLarge(most: number, received: number): Failure {
  const { code, details } = fileTooLarge(most, received);
  const says = `The request is larger than ${most} bytes: POST the file to /api/v1/uploads, and give its upload id instead of the file.`;
  return new Failure(code, { says, details });
}
