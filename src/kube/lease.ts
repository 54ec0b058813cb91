/** Elects a leader among processes by a Lease, as client-go does (tools/leaderelection): the leader renews it, the others watch it. */
import { setTimeout as pause } from 'node:timers/promises';
import type { CallOptions, Kube } from './connection/connect.ts';
import { isAlreadyExists, isConflict, isNotFound } from './connection/error.ts';
import { quietly } from './quietly.ts';
import { startReflector } from './reflector.ts';
import { type KubeObject, LEASES, microTime } from './resource.ts';

export interface LeaderElector {
  /** False from the moment that others may take over, even if this process was frozen and has not noticed yet. */
  readonly leading: boolean;
  /** Identity of the leader, as last seen. */
  readonly holder: string | undefined;
  /** UID of the Lease object, as last seen: unique across clusters. */
  readonly uid: string | undefined;
  /** Stays pending if this process resigns first. */
  readonly won: Promise<void>;
  /** Resolves with why the leadership was lost, other than by `resign`. The leader must stop acting immediately, and its process ends. */
  readonly lost: Promise<string>;
  /** Leaves the election, and releases the lease if it leads. Takes 5 s at most. */
  resign(): Promise<void>;
}

export interface ElectionOptions {
  readonly kube: Kube;
  readonly namespace: string;
  readonly name: string;
  /** Identity of this process; never reused. */
  readonly identity: string;
  /** A lease that this process has not seen change for this long has expired, ms. */
  readonly leaseDurationMs?: number;
  /** A leader that could not renew for this long stops leading, ms. Shorter than `leaseDurationMs`: two never lead at the same time. */
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  readonly onTrouble?: (error: unknown) => void;
}

interface Lease extends KubeObject {
  readonly spec: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

/** How often a follower checks whether the lease has expired, ms: in its mirror, without a request. */
const CHECK_MS = 250;
/** Time limit of each call of the two attempts to release the lease, ms. */
const RELEASE_MS = 1_000;

export function startLeaderElection(options: ElectionOptions): LeaderElector {
  const { kube, namespace, name, identity } = options;
  const onTrouble = quietly(options.onTrouble);
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = options;
  const leaving = new AbortController();
  const [won, lost] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  /** The lease, and when this process last saw it change: clocks of other machines prove nothing. */
  let [seen, seenAt]: [Lease | undefined, number] = [undefined, 0];
  /** When the last successful renewal was sent: others may count the lease from then. */
  let heldSince: number | undefined;

  const isHeld = () => heldSince !== undefined && performance.now() - heldSince < renewDeadlineMs;

  function observe(lease: Lease): Lease {
    if (lease.metadata.resourceVersion !== seen?.metadata.resourceVersion) [seen, seenAt] = [lease, performance.now()];
    return lease;
  }

  const read = (call: CallOptions): Promise<Lease | undefined> =>
    kube.get<Lease>(LEASES, { name, namespace }, call).then(observe, (error: unknown) => {
      if (!isNotFound(error)) throw error;
      seen = undefined;
      return undefined;
    });

  /** @returns whether it succeeded @throws LeaseTaken if this process led and another one holds the lease now */
  async function acquireOrRenew(limitMs: number): Promise<boolean> {
    const begun = performance.now();
    const call = { signal: leaving.signal, limitMs };
    const known = heldSince === undefined ? await read(call) : seen;
    if (known !== undefined && !mayTake(known)) return false;
    try {
      observe(known === undefined ? await kube.create(LEASES, lease(), call) : await kube.replace(LEASES, lease(known), {}, call));
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error) && !isNotFound(error)) throw error;
      // Another process was faster or deleted it, or our renewal was stored but its response was lost.
      const now = await read(call);
      if (heldSince !== undefined && now !== undefined && now.spec.holderIdentity !== identity)
        throw new LeaseTaken(now.spec.holderIdentity);
      return false;
    }
    heldSince = begun;
    return true;
  }

  const mayTake = ({ spec: { holderIdentity = '' } }: Lease): boolean =>
    holderIdentity === '' || holderIdentity === identity || leftMs() <= 0;

  /** The lease with this process as its holder. */
  function lease(known?: Lease): Lease {
    const now = microTime(new Date(kube.now()));
    const ours = known?.spec.holderIdentity === identity;
    return {
      metadata: { ...known?.metadata, name, namespace },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(leaseDurationMs / 1_000),
        acquireTime: ours ? (known.spec.acquireTime ?? now) : now,
        renewTime: now,
        leaseTransitions: (known?.spec.leaseTransitions ?? 0) + (ours || known === undefined ? 0 : 1),
      },
    };
  }

  /** Runs until this process holds the lease or resigns. */
  async function campaign(): Promise<void> {
    // The watch costs no polling and shows a released lease immediately. It may miss changes: the lease is read before it is taken.
    const mirror = startReflector<Lease>({
      kube,
      resource: LEASES,
      namespace,
      fieldSelector: `metadata.name=${name}`,
      onTrouble: reportTrouble,
    });
    mirror.onChange((_, lease) => {
      if (heldSince !== undefined) return;
      if (lease === undefined) seen = undefined;
      else observe(lease);
    });
    const isFree = () => leaving.signal.aborted || seen === undefined || mayTake(seen);
    while (!leaving.signal.aborted) {
      const won = await acquireOrRenew(renewDeadlineMs / 2).catch(reportTrouble);
      if (won === true) break;
      if (isFree()) await nap(retryPeriodMs * (0.5 + Math.random() / 2));
      while (!isFree()) await nap(Math.min(CHECK_MS, leftMs()));
    }
    await mirror.close();
  }

  /** @returns why the leadership was lost; undefined after `resign` */
  async function hold(): Promise<string | undefined> {
    for (let renewed = true; ; ) {
      await nap(Math.min(renewed ? retryPeriodMs : retryPeriodMs / 4, remaining()));
      if (leaving.signal.aborted) return undefined;
      if (!isHeld()) return `the lease ${name} could not be renewed for ${renewDeadlineMs} ms`;
      try {
        renewed = await acquireOrRenew(Math.max(1, Math.min(renewDeadlineMs / 2, remaining())));
      } catch (error) {
        if (error instanceof LeaseTaken) return error.message;
        renewed = false;
        reportTrouble(error);
      }
    }
  }

  /** What is left of the holder's lease, by its own duration, ms. */
  const leftMs = () => seenAt + (seen?.spec.leaseDurationSeconds ?? 0) * 1_000 - performance.now();
  const remaining = () => (heldSince ?? 0) + renewDeadlineMs - performance.now();
  const nap = (ms: number) => pause(Math.max(0, ms), undefined, { signal: leaving.signal }).catch(() => {});
  const reportTrouble = (error: unknown): undefined => {
    if (!leaving.signal.aborted) onTrouble(error);
  };

  const running = (async () => {
    await campaign();
    if (leaving.signal.aborted) return;
    won.resolve();
    const why = await hold();
    if (why === undefined) return;
    heldSince = undefined;
    lost.resolve(why);
  })();

  /** Clears the holder, so that the next leader need not wait for the lease to expire. */
  async function release(): Promise<void> {
    for (let attempt = 0; attempt < 2; attempt++) {
      try {
        // A renewal in progress may have been stored: read the current version.
        const known = await kube.get<Lease>(LEASES, { name, namespace }, { limitMs: RELEASE_MS });
        if (known.spec.holderIdentity !== identity) return;
        const spec = { ...lease(known).spec, holderIdentity: '', leaseDurationSeconds: 1 };
        await kube.replace(LEASES, { ...known, spec }, {}, { limitMs: RELEASE_MS });
        return;
      } catch (error) {
        onTrouble(error);
      }
    }
  }

  return {
    get leading() {
      return isHeld() && !leaving.signal.aborted;
    },
    get holder() {
      return seen?.spec.holderIdentity || undefined;
    },
    get uid() {
      return seen?.metadata.uid;
    },
    won: won.promise,
    lost: lost.promise,
    async resign() {
      if (leaving.signal.aborted) return running;
      leaving.abort(new Error('this candidate has resigned'));
      await running;
      await release();
    },
  };
}

class LeaseTaken extends Error {
  constructor(by: string | undefined) {
    super(`${by || 'no candidate'} holds the lease now`);
  }
}
