/** Elects one of several processes by a Lease, as client-go does (tools/leaderelection): whoever leads renews, the others watch whether it does. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Call, Kube } from './connection/connect.ts';
import { isAlreadyExists, isConflict, isNotFound } from './connection/error.ts';
import { quietly } from './quietly.ts';
import { startReflector } from './reflector.ts';
import { type KubeObject, LEASES, microTime } from './resource.ts';

export interface LeaderElector {
  /** False from the moment that others may believe the leader gone, even where this process was frozen and has not noticed yet. */
  readonly leading: boolean;
  /** As last seen. */
  readonly holder: string | undefined;
  /** Of the record, as last seen: no other record in this or another cluster has it. */
  readonly uid: string | undefined;
  /** For ever pending, if it resigns before. */
  readonly won: Promise<void>;
  /** Why what was won is lost; not by `resign`. Whoever led stops acting at once, and its process ends. */
  readonly lost: Promise<string>;
  /** Stands no more, and where it leads hands over at once. Takes 5 s at most. */
  resign(): Promise<void>;
}

export interface ElectionOptions {
  readonly kube: Kube;
  readonly namespace: string;
  readonly name: string;
  /** Of this process, and no other ever. */
  readonly identity: string;
  /** So long after the record last changed before our eyes, its holder is gone, ms. */
  readonly leaseDurationMs?: number;
  /** A leader that could not renew for so long leads no more, ms. Shorter than the above: two never lead at once. */
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

/** How often a follower looks whether its turn has come, ms: at what it has been told, without asking anybody. */
const LOOK_MS = 250;
/** For each of the two attempts to hand over, ms. */
const RELEASE_MS = 1_000;

export function startLeaderElection(options: ElectionOptions): LeaderElector {
  const { kube, namespace, name, identity } = options;
  const onTrouble = quietly(options.onTrouble);
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = options;
  const leaving = new AbortController();
  const [won, lost] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  /** The record, and when it last changed before our eyes: clocks of other machines prove nothing. */
  let [seen, seenAt]: [Lease | undefined, number] = [undefined, 0];
  /** Since when the last renewal that succeeded was under way: others may count from there on. */
  let heldSince: number | undefined;

  const isHeld = () => heldSince !== undefined && performance.now() - heldSince < renewDeadlineMs;

  function observe(lease: Lease): Lease {
    if (lease.metadata.resourceVersion !== seen?.metadata.resourceVersion) [seen, seenAt] = [lease, performance.now()];
    return lease;
  }

  const read = (call: Call): Promise<Lease | undefined> =>
    kube.get<Lease>(LEASES, { name, namespace }, call).then(observe, (error: unknown) => {
      if (!isNotFound(error)) throw error;
      seen = undefined;
      return undefined;
    });

  /** @returns whether that succeeded @throws Usurped where a leader reads of another */
  async function acquireOrRenew(limitMs: number): Promise<boolean> {
    const begun = performance.now();
    const call = { signal: leaving.signal, limitMs };
    const known = heldSince === undefined ? await read(call) : seen;
    if (known !== undefined && !mayTake(known)) return false;
    try {
      observe(known === undefined ? await kube.create(LEASES, lease(), call) : await kube.replace(LEASES, lease(known), {}, call));
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error) && !isNotFound(error)) throw error;
      // Somebody was faster, or deleted it, or a renewal of ours was stored whose answer did not come.
      const now = await read(call);
      if (heldSince !== undefined && now !== undefined && now.spec.holderIdentity !== identity) throw new Usurped(now.spec.holderIdentity);
      return false;
    }
    heldSince = begun;
    return true;
  }

  const mayTake = ({ spec: { holderIdentity = '' } }: Lease): boolean =>
    holderIdentity === '' || holderIdentity === identity || leftMs() <= 0;

  /** The record that says that we hold it. */
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

  /** Until it is won, or this process leaves. */
  async function stand(): Promise<void> {
    // A follower costs no requests, and sees a lease that is handed over at once. What it misses, it reads before it takes anything.
    const mirror = startReflector<Lease>({ kube, resource: LEASES, namespace, fieldSelector: `metadata.name=${name}`, onTrouble: tell });
    mirror.onChange((_, lease) => {
      if (heldSince !== undefined) return;
      if (lease === undefined) seen = undefined;
      else observe(lease);
    });
    const isFree = () => leaving.signal.aborted || seen === undefined || mayTake(seen);
    while (!leaving.signal.aborted) {
      const won = await acquireOrRenew(renewDeadlineMs / 2).catch(tell);
      if (won === true) break;
      if (isFree()) await nap(retryPeriodMs * (0.5 + Math.random() / 2));
      while (!isFree()) await nap(Math.min(LOOK_MS, leftMs()));
    }
    await mirror.close();
  }

  /** @returns why it is over; undefined when it resigned */
  async function hold(): Promise<string | undefined> {
    for (let renewed = true; ; ) {
      await nap(Math.min(renewed ? retryPeriodMs : retryPeriodMs / 4, remaining()));
      if (leaving.signal.aborted) return undefined;
      if (!isHeld()) return `the lease ${name} could not be renewed for ${renewDeadlineMs} ms`;
      try {
        renewed = await acquireOrRenew(Math.max(1, Math.min(renewDeadlineMs / 2, remaining())));
      } catch (error) {
        if (error instanceof Usurped) return error.message;
        renewed = false;
        tell(error);
      }
    }
  }

  /** Of the time of whoever holds it, as the record says. */
  const leftMs = () => seenAt + (seen?.spec.leaseDurationSeconds ?? 0) * 1_000 - performance.now();
  const remaining = () => (heldSince ?? 0) + renewDeadlineMs - performance.now();
  const nap = (ms: number) => pause(Math.max(0, ms), undefined, { signal: leaving.signal }).catch(() => {});
  const tell = (error: unknown): undefined => {
    if (!leaving.signal.aborted) onTrouble(error);
  };

  const running = (async () => {
    await stand();
    if (leaving.signal.aborted) return;
    won.resolve();
    const why = await hold();
    if (why === undefined) return;
    heldSince = undefined;
    lost.resolve(why);
  })();

  /** Nobody waits out the lease of a leader that says goodbye. */
  async function release(): Promise<void> {
    for (let attempt = 0; attempt < 2; attempt++) {
      try {
        // A renewal that was under way may have been stored: what is there now says it.
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

class Usurped extends Error {
  constructor(by: string | undefined) {
    super(`${by || 'nobody'} holds the lease now`);
  }
}
