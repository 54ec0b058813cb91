/** `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a request that is sent twice creates one job, and both get the same answer. */
import type { FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { IDEMPOTENCY_VERSION, type IdempotencyRecord } from '../../jobs/idempotency.ts';
import { clientOf, countRead, reserveShare } from '../admission/admission.ts';
import { NO_SHARE, type ReservedShare, refunding } from '../admission/share.ts';
import type { ApiDeps } from '../deps.ts';
import { owned } from '../intake/owned.ts';
import type { Received } from '../intake/receive.ts';
import { baseOf } from '../jobs/send.ts';
import { refuseFull } from './capacity.ts';
import type { Admitted, Idempotency } from './stages.ts';

/**
 * Admits a request that will create these jobs, before its body is read.
 * @param pools any of which may take it, judged by its headers
 * @throws Failure `BAD_REQUEST`, `OVERLOADED`, `RATE_LIMITED`, `BANNED`
 */
export async function admitRequest(
  deps: Pick<ApiDeps, 'jobs' | 'limits' | 'service'>,
  request: FastifyRequest,
  jobs: readonly string[],
  pools: readonly string[],
  tool?: string,
): Promise<Admitted> {
  const key = keyOf(deps, request);
  const client = clientOf(deps, request);
  const earlier = key === undefined ? undefined : await deps.jobs.idempotency.get(key, deps.jobs.clock());
  if (earlier === undefined) await refuseFull(deps, pools);
  const share = earlier === undefined ? await reserveShare(deps, request, jobs, tool) : NO_SHARE;
  if (earlier !== undefined) await countRead(deps, request);
  return {
    client: client.key,
    network: client.network,
    base: baseOf(request, deps),
    share,
    refundAfter: refunding(share, request.log),
    idempotency: key === undefined ? WITHOUT_KEY : withKey(deps, request, share, key, earlier),
    log: request.log,
  };
}

/** For a request without a key, and for protocols that have none. */
export const WITHOUT_KEY: Idempotency = {
  hasIdempotencyKey: false,
  isRepeated: false,
  resolve: async () => undefined,
  claim: async () => undefined,
  ...owned(async () => {}),
};

function withKey(
  deps: Pick<ApiDeps, 'jobs'>,
  request: FastifyRequest,
  share: ReservedShare,
  key: string,
  earlier: IdempotencyRecord | undefined,
): Idempotency {
  const { idempotency, clock } = deps.jobs;
  let claimed: IdempotencyRecord | undefined;
  /** The client has its share back: its work was done for the earlier request. */
  const createdBy = async ({ fingerprint, resourceId }: IdempotencyRecord, sent: Received): Promise<string> => {
    await share.refund();
    if (fingerprint !== fingerprintOf(deps, request, sent)) throw new Failure('IDEMPOTENCY_MISMATCH');
    return resourceId;
  };
  return {
    hasIdempotencyKey: true,
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
function keyOf(deps: Pick<ApiDeps, 'jobs' | 'limits'>, request: FastifyRequest): string | undefined {
  const sent = request.headers['idempotency-key'];
  if (sent === undefined) return undefined;
  // Node joins two such headers with a comma and a space: they are refused.
  if (typeof sent !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(sent)) {
    const allowed = '1 to 128 visible ASCII characters';
    const details = { header: 'Idempotency-Key', received: String(sent).slice(0, 128), allowed };
    throw new Failure('BAD_REQUEST', { says: `The header Idempotency-Key must have ${allowed}.`, details });
  }
  return deps.jobs.encryption.hmac(`key\0${clientOf(deps, request).key}\0${sent}`);
}

/** A hash of the path, the fields, and the files' names and contents; neither the form's encoding nor the order of its fields counts. */
function fingerprintOf({ jobs: { encryption } }: Pick<ApiDeps, 'jobs'>, request: FastifyRequest, { fields, files }: Received): string {
  const path = request.url.split('?')[0];
  const given = [...fields].sort(([a], [b]) => (a < b ? -1 : 1));
  const contents = files.map(({ filename, sha256 }) => [filename, sha256]);
  return encryption.hmac(`request\0${JSON.stringify([path, given, contents])}`);
}
