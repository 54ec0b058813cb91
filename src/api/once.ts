/** `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a request that is sent twice is done once, and answered twice. */
import type { FastifyRequest } from 'fastify';
import { Failure } from '../errors.ts';
import { DEED_VERSION, type Deed } from '../jobs/idempotency.ts';
import { refuseFull } from './capacity.ts';
import { admit, clientOf, countRead, giveBack } from './door.ts';
import { orRemove } from './inputs.ts';
import type { ApiParts } from './parts.ts';
import type { Received } from './receive.ts';

/** A request under a key. */
export interface Once {
  /** As deeds are kept under. */
  readonly key: string;
  /** What an earlier request under this key made. */
  readonly done: Deed | undefined;
}

/**
 * Admits a request that is to make these jobs, before its body is read. One that was admitted before passes the limits.
 * @param pools any of which may take it, as far as its headers tell
 * @returns undefined where it has no key
 * @throws Failure `BAD_REQUEST`, `OVERLOADED`, `RATE_LIMITED`, `BANNED`
 */
export async function admitOnce(
  parts: ApiParts,
  request: FastifyRequest,
  jobs: readonly string[],
  pools: readonly string[],
  tool?: string,
): Promise<Once | undefined> {
  const key = keyOf(parts, request);
  const done = key === undefined ? undefined : await parts.deeds.get(key, parts.clock());
  if (done === undefined) await refuseFull(parts, pools);
  await (done === undefined ? admit(parts, request, jobs, tool) : countRead(parts, request));
  return key === undefined ? undefined : { key, done };
}

/** Says for good that this request is the one that makes it. @throws where another one was first */
export type Claim = () => Promise<void>;

interface Work<T> {
  /** What it would make: a job or a batch. */
  readonly id: string;
  readonly sent: Received;
  /** Of all the files that it brought. */
  readonly inputs: readonly string[];
  /** Calls `claim` as late as what it makes can still be taken back. */
  readonly make: (claim: Claim) => Promise<T>;
  /** Reads what an earlier request made. */
  readonly find: (id: string) => Promise<T>;
}

/**
 * Makes what is asked for, or finds what was made when it was asked for first.
 * @throws Failure `IDEMPOTENCY_MISMATCH`, and what `make` and `find` throw; the inputs are then removed
 */
export async function onlyOnce<T>(
  parts: ApiParts,
  request: FastifyRequest,
  once: Once | undefined,
  { id, sent, inputs, make, find }: Work<T>,
): Promise<T> {
  const { objects, deeds, clock } = parts;
  if (once === undefined) return orRemove(objects, inputs, () => make(async () => {}));
  const deed: Deed = { version: DEED_VERSION, key: once.key, fingerprint: fingerprintOf(parts, request, sent), made: id, madeAt: clock() };
  try {
    return await orRemove(objects, inputs, () => {
      if (once.done !== undefined) throw new Repeated(once.done);
      return make(async () => {
        const kept = await deeds.keep(deed);
        if (kept.made !== id) throw new Repeated(kept);
      });
    });
  } catch (error) {
    if (!(error instanceof Repeated)) {
      await deeds.remove(deed).catch((err: unknown) => request.log.warn({ err }, 'a claim on an idempotency key could not be taken back'));
      throw error;
    }
    await giveBack(parts, request);
    if (error.deed.fingerprint !== deed.fingerprint) throw new Failure('IDEMPOTENCY_MISMATCH');
    return find(error.deed.made);
  }
}

class Repeated extends Error {
  readonly deed: Deed;
  constructor(deed: Deed) {
    super('an earlier request made this');
    this.deed = deed;
  }
}

/** @throws Failure `BAD_REQUEST` */
function keyOf(parts: ApiParts, request: FastifyRequest): string | undefined {
  const sent = request.headers['idempotency-key'];
  if (sent === undefined) return undefined;
  // Two such headers come joined by a comma and a space.
  if (typeof sent !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(sent)) {
    const allowed = '1 to 128 visible ASCII characters';
    const details = { header: 'Idempotency-Key', received: String(sent).slice(0, 128), allowed };
    throw new Failure('BAD_REQUEST', { says: `The header Idempotency-Key takes ${allowed}.`, details });
  }
  return parts.seal.mark(`key\0${clientOf(parts, request).key}\0${sent}`);
}

/** Of where it went, what its form said and what its files held; not of how the form was written, nor in which order it named its fields. */
function fingerprintOf({ seal }: ApiParts, request: FastifyRequest, { fields, files }: Received): string {
  const path = request.url.split('?')[0];
  const said = [...fields].sort(([a], [b]) => (a < b ? -1 : 1));
  const held = files.map(({ filename, sha256 }) => [filename, sha256]);
  return seal.mark(`request\0${JSON.stringify([path, said, held])}`);
}
