/** `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a request that is sent twice is done once, and answered twice. */
import type { FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { IDEMPOTENCY_VERSION, type IdempotencyRecord } from '../../jobs/idempotency.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { ApiDeps } from '../deps.ts';
import { orRemove } from '../intake/inputs.ts';
import type { Received } from '../intake/receive.ts';
import { shown } from '../jobs/view.ts';
import { admit, clientOf, countRead, refund } from './admission.ts';
import { refuseFull } from './capacity.ts';

/** A request under a key. */
export interface IdempotentRequest {
  /** As idempotency records are kept under. */
  readonly key: string;
  /** What an earlier request under this key made. */
  readonly earlier: IdempotencyRecord | undefined;
}

/**
 * Admits a request that is to make these jobs, before its body is read. One that was admitted before passes the limits.
 * @param pools any of which may take it, as far as its headers tell
 * @returns undefined where it has no key
 * @throws Failure `BAD_REQUEST`, `OVERLOADED`, `RATE_LIMITED`, `BANNED`
 */
export async function admitIdempotent(
  deps: ApiDeps,
  request: FastifyRequest,
  jobs: readonly string[],
  pools: readonly string[],
  tool?: string,
): Promise<IdempotentRequest | undefined> {
  const key = keyOf(deps, request);
  const earlier = key === undefined ? undefined : await deps.idempotency.get(key, deps.clock());
  if (earlier === undefined) await refuseFull(deps, pools);
  await (earlier === undefined ? admit(deps, request, jobs, tool) : countRead(deps, request));
  return key === undefined ? undefined : { key, earlier };
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
  readonly create: (claim: Claim) => Promise<T>;
  /** Reads what an earlier request made. */
  readonly find: (id: string) => Promise<T>;
}

/**
 * Makes what is asked for, or finds what was made when it was asked for first.
 * @throws Failure `IDEMPOTENCY_MISMATCH`, and what `make` and `find` throw; the inputs are then removed
 */
export async function runIdempotent<T>(
  deps: ApiDeps,
  request: FastifyRequest,
  idempotent: IdempotentRequest | undefined,
  { id, sent, inputs, create, find }: Work<T>,
): Promise<T> {
  const { objects, idempotency, clock } = deps;
  if (idempotent === undefined) return orRemove(objects, inputs, () => create(async () => {}));
  const record: IdempotencyRecord = {
    version: IDEMPOTENCY_VERSION,
    key: idempotent.key,
    fingerprint: fingerprintOf(deps, request, sent),
    resourceId: id,
    createdAt: clock(),
  };
  try {
    return await orRemove(objects, inputs, () => {
      if (idempotent.earlier !== undefined) throw new RepeatedRequest(idempotent.earlier);
      return create(async () => {
        const kept = await idempotency.claim(record);
        if (kept.resourceId !== id) throw new RepeatedRequest(kept);
      });
    });
  } catch (error) {
    if (!(error instanceof RepeatedRequest)) {
      await idempotency
        .remove(record)
        .catch((err: unknown) => request.log.warn({ err }, 'a claim on an idempotency key could not be taken back'));
      throw error;
    }
    await refund(deps, request);
    if (error.record.fingerprint !== record.fingerprint) throw new Failure('IDEMPOTENCY_MISMATCH');
    return find(error.record.resourceId);
  }
}

class RepeatedRequest extends Error {
  readonly record: IdempotencyRecord;
  constructor(record: IdempotencyRecord) {
    super('an earlier request made this');
    this.record = record;
  }
}

/** @throws Failure `BAD_REQUEST` */
function keyOf(deps: ApiDeps, request: FastifyRequest): string | undefined {
  const sent = request.headers['idempotency-key'];
  if (sent === undefined) return undefined;
  // Two such headers come joined by a comma and a space.
  if (typeof sent !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(sent)) {
    const allowed = '1 to 128 visible ASCII characters';
    const details = { header: 'Idempotency-Key', received: String(sent).slice(0, 128), allowed };
    throw new Failure('BAD_REQUEST', { says: `The header Idempotency-Key takes ${allowed}.`, details });
  }
  return deps.encryption.hmac(`key\0${clientOf(deps, request).key}\0${sent}`);
}

/** Of where it went, what its form said and what its files held; not of how the form was written, nor in which order it named its fields. */
function fingerprintOf({ encryption }: ApiDeps, request: FastifyRequest, { fields, files }: Received): string {
  const path = request.url.split('?')[0];
  const said = [...fields].sort(([a], [b]) => (a < b ? -1 : 1));
  const held = files.map(({ filename, sha256 }) => [filename, sha256]);
  return encryption.hmac(`request\0${JSON.stringify([path, said, held])}`);
}

/** @throws Failure `JOB_EXPIRED`; `OVERLOADED` where the earlier request took it back in this very moment */
export async function findCreated({ jobs, clock }: Pick<ApiDeps, 'jobs' | 'clock'>, id: string): Promise<JobRecord> {
  const stored = await jobs.get(id);
  if (stored === undefined) throw new Failure('OVERLOADED');
  return shown(stored.record, clock());
}
