/** What the controller remembers of a pool between reconciliations: written by these methods and nowhere else. A new leader can rebuild all of it. */
import { MAX_CLAIMS } from '../../jobs/lifecycle.ts';
import { backOff, LONGEST_MS } from './decide/back-off.ts';
import { serviceTime } from './decide/service-time.ts';
import { type Recommendation, stabilisationWindow } from './decide/stabilisation.ts';
import { isComing, isLive, isStranded, type ObservedWorker, provesTemplate, type Trouble } from './observation.ts';

/** A worker that fails within this time failed at its start, even if its heartbeats were missed; one that lives longer works, ms. */
const EARLY_MS = 60_000;
/** How long a slot is skipped after its Job name was found taken, ms. */
const BLOCKED_MS = 30_000;

/** Times in ms since the epoch. */
export interface RememberedWorker {
  readonly firstSeen: number;
  /** Whether heartbeats could be received when it was first observed. */
  readonly listening: boolean;
  readonly sentHeartbeat: boolean;
  /** It lived long enough or finished a conversion. */
  readonly proved: boolean;
  /** Since when its pod runs without a heartbeat. */
  readonly silentSince: number | undefined;
  /** Since when its node fails to start its pod. */
  readonly stuckSince: number | undefined;
}

interface KnownWorker extends RememberedWorker {
  /** Whether its failure is in a back-off. */
  readonly counted: boolean;
  /** Whose heartbeats were heard: its pod's name. */
  readonly pod?: string;
}

/** A worker's totals and age, as observed now. */
interface Heard {
  readonly worker: string;
  readonly ended: number;
  readonly busyMs: number;
  readonly createdAt: number;
  /** Hash of the template that its Job was made from. */
  readonly template: string;
}

interface Failed {
  readonly createdAt: number;
  readonly endedAt: number;
  readonly template: string;
  /** @param inARow this failure included */
  readonly describe: (inARow: number) => Trouble;
}

/** Why Kubernetes creates no pods for a pool's Jobs, and until when that answer is reused, ms since the epoch. */
export interface Refusal {
  readonly message: string | undefined;
  readonly until: number;
}

/** Why orders should go to other pools, and until when, ms since the epoch. */
interface PublishedTrouble {
  readonly reason: string;
  readonly template: string;
  readonly until: number;
}

/** What came of a reconciliation. */
interface Reconciled {
  readonly created: number;
  /** Why the API server refuses the Jobs. */
  readonly refused: string | undefined;
  /** Slots whose Job names are taken by something outside the cache. */
  readonly blocked: readonly number[];
  /** `undefined`: nothing was decided. */
  readonly desired: number | undefined;
  readonly workers: readonly ObservedWorker[];
  readonly idleMs: number;
  /** Whether more workers were decided on. */
  readonly creates: boolean;
  readonly template: string;
}

export type PoolMemory = ReturnType<typeof newMemory>;

export function newMemory() {
  const peaks = stabilisationWindow();
  const service = serviceTime();
  /** Workers that end before their first heartbeat; below, those that end soon after it without finishing a conversion, and Jobs that the API server refuses. */
  const startFailures = backOff();
  /** One bad file may crash up to MAX_CLAIMS workers before its job fails, so as many early deaths prove nothing. */
  const earlyDeaths = backOff(MAX_CLAIMS);
  const jobRefusals = backOff();
  const backOffs = [startFailures, earlyDeaths, jobRefusals];
  /** By slot: until when it is skipped, ms since the epoch. */
  const blocked = new Map<number, number>();
  /** By uid of the Job. */
  const workers = new Map<string, KnownWorker>();
  /** By uid: when a pod was first observed without a Job, ms since the epoch. */
  const orphans = new Map<string, number>();
  let refusal: Refusal | undefined;
  /** As JSON; empty: declare again. */
  let declared = '';
  let trouble: PublishedTrouble | undefined;
  /** The reason that API replicas last received, `null` before the first. */
  let publishedTrouble: string | undefined | null = null;
  let contender: string | undefined;
  let status = { text: '', at: Number.NEGATIVE_INFINITY };
  let waitingSince: number | undefined;

  /** The longest back-off for this template. */
  const longest = (template: string) => backOffs.flatMap((each) => each.active(template) ?? []).toSorted((a, b) => b.until - a.until)[0];
  /** It has neither lived long enough nor converted anything: whether its template works is open. */
  const isOnTrial = (worker: ObservedWorker): boolean => isComing(worker) || (isLive(worker) && workers.get(worker.uid)?.proved !== true);
  const change = (uid: string, to: Partial<KnownWorker>) => {
    const known = workers.get(uid);
    if (known !== undefined) workers.set(uid, { ...known, ...to });
  };

  return {
    /** Forgets workers whose Jobs are gone, and slots that may be tried again. */
    forgetGone(uids: ReadonlySet<string>, now: number): void {
      for (const [uid, { pod }] of workers) {
        if (uids.has(uid)) continue;
        workers.delete(uid);
        // Not when it ends: its last heartbeat is known for a while longer, and would count as that of a new worker.
        if (pod !== undefined) service.forget(pod);
      }
      for (const [slot, until] of blocked) if (until < now) blocked.delete(slot);
    },
    worker: (uid: string): RememberedWorker | undefined => workers.get(uid),
    /** @param isSilent its pod runs and sends no heartbeat */
    sawWorker(uid: string, now: number, { listening, isSilent }: { readonly listening: boolean; readonly isSilent: boolean }): void {
      const first = { firstSeen: now, listening, sentHeartbeat: false, proved: false, counted: false };
      const known = workers.get(uid) ?? { ...first, silentSince: undefined, stuckSince: undefined };
      workers.set(uid, { ...known, silentSince: isSilent ? (known.silentSince ?? now) : undefined });
    },
    /** @param byNode its node fails to start its pod */
    sawStuck(uid: string, now: number, byNode: boolean): void {
      change(uid, { stuckSince: byNode ? (workers.get(uid)?.stuckSince ?? now) : undefined });
    },
    /** Its heartbeat: the template starts, and after some time or a conversion it is known to work. */
    heardWorker(uid: string, now: number, { worker, ended, busyMs, createdAt, template }: Heard): void {
      const known = workers.get(uid);
      if (known === undefined) return;
      if (!known.sentHeartbeat) startFailures.succeeded(template);
      const proves = !known.proved && (ended > 0 || now - createdAt > EARLY_MS);
      if (proves) earlyDeaths.succeeded(template);
      change(uid, { sentHeartbeat: true, proved: known.proved || proves, pod: worker });
      service.note(worker, { ended, busyMs });
    },
    /** Counts a failure once, against the current template only. */
    workerFailed(uid: string, now: number, { createdAt, endedAt, template, describe }: Failed, current: string): void {
      const known = workers.get(uid);
      if (known === undefined || known.counted) return;
      change(uid, { counted: true });
      if (template !== current || endedAt <= now - LONGEST_MS) return;
      const wasListening = known.listening || endedAt - createdAt < EARLY_MS;
      if (known.sentHeartbeat ? endedAt - createdAt >= EARLY_MS || known.proved : !wasListening) return;
      const failures = known.sentHeartbeat ? earlyDeaths : startFailures;
      failures.failed(current, endedAt, describe(failures.failures() + 1), createdAt);
    },
    /** Mean duration of an order, ms. */
    serviceMs: (): number | undefined => service.mean(),
    blockedSlots: (): readonly number[] => [...blocked.keys()],
    history: (): readonly Recommendation[] => peaks.all(),
    backOff: longest,

    /** @param uids of all pods without a Job */
    sawOrphans(uids: ReadonlySet<string>, now: number): void {
      for (const uid of orphans.keys()) if (!uids.has(uid)) orphans.delete(uid);
      for (const uid of uids) orphans.set(uid, orphans.get(uid) ?? now);
    },
    /** Since when a pod is known to have no Job, ms since the epoch. */
    orphanSince: (uid: string): number | undefined => orphans.get(uid),

    refusal: (): Refusal | undefined => refusal,
    readRefusal(read: Refusal | undefined): void {
      refusal = read;
    },

    declared: (): string => declared,
    /** @param text empty: declare again */
    wasDeclared(text: string): void {
      declared = text;
    },
    /** The registry has lost the pool: its declaration and its state are published again. */
    wasForgotten(): void {
      [declared, publishedTrouble] = ['', null];
    },
    /** Who else declares a pool of this name, as last read. */
    contender: (): string | undefined => contender,
    sawContender(name: string | undefined): void {
      contender = name;
    },

    trouble: (): PublishedTrouble | undefined => trouble,
    sawTrouble(now: PublishedTrouble | undefined): void {
      trouble = now;
    },
    publishedTrouble: (): string | undefined | null => publishedTrouble,
    wasPublished(reason: string | undefined): void {
      publishedTrouble = reason;
    },

    /** The status last written, and when, ms since the epoch. */
    status: (): { readonly text: string; readonly at: number } => status,
    wroteStatus(text: string, at: number): void {
      status = { text, at };
    },

    /** Since when orders have been waiting, ms since the epoch. */
    waitingSince: (): number | undefined => waitingSince,
    sawOrders(wait: boolean, now: number): void {
      waitingSince = wait ? (waitingSince ?? now) : undefined;
    },

    /** @param now ms since the epoch */
    reconciled({ created, refused, blocked: taken, desired, workers: observed, idleMs, creates, template }: Reconciled, now: number): void {
      const over = longest(template);
      const live = observed.filter(isLive).length;
      // A new leader has no history: it takes the workers it finds as the recent demand.
      if (desired !== undefined) peaks.note(now, Math.max(desired, peaks.all().length === 0 ? live : 0), idleMs);
      for (const slot of taken) blocked.set(slot, now + BLOCKED_MS);
      // Their successors are created one at a time, at growing intervals, unless other workers show that the template works.
      if (!observed.some(provesTemplate))
        for (const { uid, current, trouble } of observed.filter(isStranded))
          if (current && trouble !== undefined) startFailures.failed(template, now, trouble, workers.get(uid)?.firstSeen);
      if (refused !== undefined)
        jobRefusals.failed(template, now, { reason: 'JobRefused', message: `Kubernetes refuses its Jobs: ${refused}` });
      else if (created > 0) jobRefusals.succeeded(template);
      // The back-off has run out and no worker tries whether it is over: clear it, or its condition would stay for ever.
      else if (!creates && !observed.some(isOnTrial) && over !== undefined && now >= over.until)
        for (const each of backOffs) each.succeeded(template);
    },
  };
}
