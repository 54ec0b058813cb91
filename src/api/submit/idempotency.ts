/** `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a request that is sent twice creates one job, and both get the same answer. */
import type { FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { IDEMPOTENCY_VERSION, type IdempotencyRecord } from '../../jobs/idempotency.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { admit, clientOf, countRead, refund } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { type Owned, owned } from '../intake/owned.ts';
import type { Received } from '../intake/receive.ts';
import { shown } from '../jobs/view.ts';
import { refuseFull } from './capacity.ts';

/** How a request stands to its `Idempotency-Key`. At the end of the scope its claim on the key is removed, unless it is kept. */
export interface Idempotency extends Owned {
  readonly hasKey: boolean;
  /** An earlier request had this key: admitted before, this one passed the limits. */
  readonly isRepeated: boolean;
  /** @returns the id of what the earlier request created @throws Failure `IDEMPOTENCY_MISMATCH` where it was another request */
  resolve(sent: Received): Promise<string | undefined>;
  /**
   * Claims the key for what this request has created, as late as that can still be taken back.
   * @param id of the job or the batch
   * @returns the id of what another request created, where that one claimed the key first
   * @throws Failure `IDEMPOTENCY_MISMATCH` where it was another request
   */
  claim(id: string, sent: Received): Promise<string | undefined>;
}

/**
 * Admits a request that will create these jobs, before its body is read.
 * @param pools any of which may take it, judged by its headers
 * @throws Failure `BAD_REQUEST`, `OVERLOADED`, `RATE_LIMITED`, `BANNED`
 */
export async function admitRequest(
  deps: ApiDeps,
  request: FastifyRequest,
  jobs: readonly string[],
  pools: readonly string[],
  tool?: string,
): Promise<Idempotency> {
  const key = keyOf(deps, request);
  const earlier = key === undefined ? undefined : await deps.idempotency.get(key, deps.clock());
  if (earlier === undefined) await refuseFull(deps, pools);
  await (earlier === undefined ? admit(deps, request, jobs, tool) : countRead(deps, request));
  return key === undefined ? WITHOUT_KEY : withKey(deps, request, key, earlier);
}

const WITHOUT_KEY: Idempotency = {
  hasKey: false,
  isRepeated: false,
  resolve: async () => undefined,
  claim: async () => undefined,
  ...owned(async () => {}),
};

function withKey(deps: ApiDeps, request: FastifyRequest, key: string, earlier: IdempotencyRecord | undefined): Idempotency {
  const { idempotency, clock } = deps;
  let claimed: IdempotencyRecord | undefined;
  /** The client has its share back: its work was done for the earlier request. */
  const createdBy = async ({ fingerprint, resourceId }: IdempotencyRecord, sent: Received): Promise<string> => {
    await refund(deps, request);
    if (fingerprint !== fingerprintOf(deps, request, sent)) throw new Failure('IDEMPOTENCY_MISMATCH');
    return resourceId;
  };
  return {
    hasKey: true,
    isRepeated: earlier !== undefined,
    resolve: async (sent) => (earlier === undefined ? undefined : createdBy(earlier, sent)),
    async claim(resourceId, sent) {
      // Set before the store is asked: where its answer is lost, it may hold the claim.
      claimed = { version: IDEMPOTENCY_VERSION, key, fingerprint: fingerprintOf(deps, request, sent), resourceId, createdAt: clock() };
      const winner = await idempotency.claim(claimed);
      if (winner.resourceId === resourceId) return undefined;
      claimed = undefined;
      return createdBy(winner, sent);
    },
    ...owned(async () => {
      if (claimed === undefined) return;
      await idempotency
        .remove(claimed)
        .catch((err: unknown) => request.log.warn({ err }, 'a claim on an idempotency key could not be removed'));
    }),
  };
}

/** @throws Failure `BAD_REQUEST` */
function keyOf(deps: ApiDeps, request: FastifyRequest): string | undefined {
  const sent = request.headers['idempotency-key'];
  if (sent === undefined) return undefined;
  // Node joins two such headers with a comma and a space: they are refused.
  if (typeof sent !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(sent)) {
    const allowed = '1 to 128 visible ASCII characters';
    const details = { header: 'Idempotency-Key', received: String(sent).slice(0, 128), allowed };
    throw new Failure('BAD_REQUEST', { says: `The header Idempotency-Key must have ${allowed}.`, details });
  }
  return deps.encryption.hmac(`key\0${clientOf(deps, request).key}\0${sent}`);
}

/** A hash of the path, the fields, and the files' names and contents; neither the form's encoding nor the order of its fields counts. */
function fingerprintOf({ encryption }: ApiDeps, request: FastifyRequest, { fields, files }: Received): string {
  const path = request.url.split('?')[0];
  const given = [...fields].sort(([a], [b]) => (a < b ? -1 : 1));
  const contents = files.map(({ filename, sha256 }) => [filename, sha256]);
  return encryption.hmac(`request\0${JSON.stringify([path, given, contents])}`);
}

/** The job of an earlier request. @throws Failure `JOB_EXPIRED`; `OVERLOADED` where that request has just taken it back */
export async function findCreated({ jobs, clock }: Pick<ApiDeps, 'jobs' | 'clock'>, id: string): Promise<JobRecord> {
  const stored = await jobs.get(id);
  if (stored === undefined) throw new Failure('OVERLOADED');
  return shown(stored.record, clock());
}
