/** Tells the API's replicas of a pool whose workers do not come up, so that orders go where somebody takes them. */
import type { ToolchainPoolStatus } from '../../../contracts/kubernetes/toolchain-pool.ts';
import type { Memory } from '../memory.ts';
import { isComing, isServing, type Seen } from '../observe/seen.ts';

/** @param degraded a reason of the condition `Degraded` @throws Unavailable */
export type PublishState = (pool: string, degraded: string | undefined) => Promise<void>;

/** Without orders nobody tries whether workers come up by now: after so long some are sent there again, ms. */
const TRIED_AGAIN_MS = 300_000;

interface Look {
  readonly status: ToolchainPoolStatus;
  readonly seen: Seen;
  readonly template: string;
  /** Ms since the epoch. */
  readonly now: number;
}

/** Trouble lasts until a worker takes orders, the template is another, or it has been long enough: that its orders went elsewhere ends nothing. */
export async function publishTrouble(
  { publishState }: { readonly publishState: PublishState },
  pool: string,
  look: Look,
  memory: Memory,
): Promise<void> {
  const { status, seen, template, now } = look;
  const degraded = status.conditions?.find(({ type, status: is }) => type === 'Degraded' && is === 'True');
  const isServed = seen.workers.some((worker) => isServing(worker) && !isComing(worker) && worker.unwell === undefined);
  if (isServed || (memory.trouble !== undefined && (memory.trouble.template !== template || now >= memory.trouble.until)))
    memory.trouble = undefined;
  if (degraded !== undefined && !isServed) memory.trouble = { reason: degraded.reason, template, until: now + TRIED_AGAIN_MS };
  const reason = memory.trouble?.reason;
  if (reason === memory.toldTrouble) return;
  const told = await publishState(pool, reason).then(
    () => true,
    // Said again at the next look; that NATS does not take it shows where the pool is declared.
    () => false,
  );
  if (told) memory.toldTrouble = reason;
}
