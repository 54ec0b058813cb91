/** Stores the results of jobs where their clients want them: from the end of a conversion on, or when upkeep finds one that is due, and each attempt by one process alone. */
import { Failure } from '../errors.ts';
import { startTurns, type Turn } from '../fetch/send-queue.ts';
import {
  claimStoring,
  type DestinationTarget,
  destinationTarget,
  endStoring,
  isStoring,
  renewStoring,
  type StoringEnd,
  type StoringRecord,
} from '../jobs/destination.ts';
import type { Encryption } from '../jobs/encryption.ts';
import { followJobs } from '../jobs/follow.ts';
import { hasEnded } from '../jobs/lifecycle.ts';
import type { JobRecord } from '../jobs/record.ts';
import type { JobStore, Stored } from '../jobs/store.ts';
import { updateRecord } from '../jobs/update.ts';
import { Missing } from '../objects/store.ts';
import { onAbort } from '../streams/abort.ts';
import type { Log } from '../telemetry/log.ts';
import { afterStoring, type StoringAttempt } from './decide.ts';
import type { DestinationSettings } from './settings.ts';

export interface StorerDeps {
  readonly jobs: Pick<JobStore, 'get' | 'update' | 'watch'>;
  readonly encryption: Encryption;
  /** Sends the result. @param confirm called before its first byte is sent; where it throws, nothing is @throws Failure · what the object store throws · the reason of `signal` */
  readonly put: (
    record: StoringRecord,
    target: DestinationTarget,
    confirm: () => Promise<void>,
    signal: AbortSignal,
  ) => Promise<StoringAttempt>;
  /** The host that a result is sent to, as far as its turns go. */
  readonly hostOf: (target: DestinationTarget) => string;
  /** Those that wait for the job learn of its end. */
  readonly ended: (jobId: string) => void;
  /** Calls back when the job is cancelled. @returns unsubscribe */
  readonly onCancel: (jobId: string, cancelled: () => void) => () => void;
  readonly settings: DestinationSettings;
  /** Ms since the epoch. */
  readonly clock: () => number;
  readonly random?: () => number;
  /** Ms since the epoch: attempts of processes before that have ended. */
  readonly aloneSince?: number | undefined;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly onAttempt: (outcome: StoringOutcome, seconds: number) => void;
  readonly onEnd: (record: JobRecord) => void;
}

export type StoringOutcome = 'stored' | 'failed' | 'again';

export interface Storer {
  /** A job that was accepted here: the end of its conversion is noticed at once. */
  follow(id: string): void;
  /** A job whose result may be due. Returns at once. */
  offer(stored: Stored): void;
  /** Attempts that are under way are made again by another process, or after a restart. */
  stop(): Promise<void>;
}

/** How often an attempt that goes on is made known, ms: much less than its lease. */
const RENEW_MS = 15_000;
/** Attempts that one process waits to make; upkeep finds the others. */
const MOST_TIMERS = 10_000;
/** The error of an attempt that this process broke off. */
const INTERRUPTED = 'interrupted';

interface Waiting extends Turn {
  readonly id: string;
  readonly target: DestinationTarget;
}

/** The job was deleted, or another process has its result. */
class Withdrawn extends Error {
  override readonly name = 'Withdrawn';
}

export function startStorer(deps: StorerDeps): Storer {
  const { jobs, encryption, put, hostOf, ended, onCancel, settings, clock, random = Math.random, aloneSince, log, onAttempt, onEnd } = deps;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  /** By job, for the next attempt. */
  const timers = new Map<string, NodeJS.Timeout>();

  const track = (work: Promise<void>, id: string): Promise<void> => {
    const tracked = work
      // Its lease ends soon, and upkeep offers it again.
      .catch((err: unknown) => log.warn({ job_id: id, err }, 'a result could not be handed over; it is tried again'))
      .finally(() => running.delete(tracked));
    running.add(tracked);
    return tracked;
  };

  const turns = startTurns<Waiting>(settings, (turn) => track(store(turn), turn.id));

  const offer = ({ record }: Stored): void => {
    if (stopping.signal.aborted || turns.has(record.id) || !isStoring(record)) return;
    if (claimStoring(record, clock(), aloneSince) === undefined) return;
    const target = readTarget(record);
    if (target !== undefined) turns.add({ id: record.id, target, host: hostOf(target), client: target.client });
  };

  const readTarget = ({ id, destination }: StoringRecord): DestinationTarget | undefined => {
    try {
      return destinationTarget(encryption, id, destination.sealed);
    } catch {
      // Another process may know the key. Not the cause: it could tell of what was inside.
      log.warn({ job_id: id }, 'where the result of this job is to be stored was encrypted with a key that is not known here');
      return undefined;
    }
  };

  async function store({ id, target }: Waiting): Promise<void> {
    const claimed = await updateRecord(jobs, id, (record) => claimStoring(record, clock(), aloneSince));
    if (claimed === undefined || !isStoring(claimed.record)) return;
    const { attempts } = claimed.record.destination;
    const begun = performance.now();
    const end = await attempt(claimed.record, target).catch((error: unknown) => endedBy(id, error));
    if (end === undefined) return;
    let outcome: StoringOutcome = 'again';
    let pauseMs: number | undefined;
    const stored = await updateRecord(jobs, id, (record) => {
      const next = end.error === INTERRUPTED ? { nextAt: clock() } : afterStoring(end, attempts, { now: clock(), random: random() });
      outcome = typeof next === 'string' ? next : 'again';
      pauseMs = typeof next === 'string' ? undefined : next.nextAt - clock();
      return endStoring(record, attempts, end, next, clock());
    });
    // It was deleted meanwhile, or another process took this one for dead.
    if (stored === undefined) return;
    onAttempt(outcome, (performance.now() - begun) / 1_000);
    if (pauseMs !== undefined) again(id, pauseMs);
    const { status, error } = end;
    log.info({ job_id: id, attempt: attempts, status, error, outcome }, 'an attempt to store a result ended');
    if (!hasEnded(stored.record)) return;
    onEnd(stored.record);
    ended(id);
  }

  async function attempt(record: StoringRecord, target: DestinationTarget): Promise<StoringAttempt> {
    const { attempts } = record.destination;
    const over = new AbortController();
    const withdraw = () => over.abort(new Withdrawn());
    const renew = async (): Promise<void> => {
      if ((await updateRecord(jobs, record.id, (latest) => renewStoring(latest, attempts, clock()))) === undefined) throw new Withdrawn();
    };
    const timer = setInterval(() => void renew().catch((error: unknown) => error instanceof Withdrawn && withdraw()), RENEW_MS);
    const subscriptions = [onCancel(record.id, withdraw), onAbort(stopping.signal, (reason) => over.abort(reason))];
    try {
      return await put(record, target, renew, over.signal);
    } finally {
      clearInterval(timer);
      for (const unsubscribe of subscriptions) unsubscribe();
    }
  }

  /** @returns undefined where no attempt was made */
  function endedBy(id: string, error: unknown): StoringEnd | undefined {
    if (error instanceof Withdrawn) return undefined;
    if (stopping.signal.aborted) return { error: INTERRUPTED };
    const reason = error instanceof Failure && error.code === 'URL_REFUSED' ? error.details['reason'] : undefined;
    if (typeof reason === 'string') return { error: reason };
    log.warn({ job_id: id, err: error }, 'this service could not send a result');
    return { error: error instanceof Missing ? 'missing' : 'unavailable' };
  }

  /** Upkeep offers it as well, but looks less often. */
  const again = (id: string, ms: number): void => {
    if (stopping.signal.aborted || timers.size >= MOST_TIMERS) return;
    clearTimeout(timers.get(id));
    const look = async () => {
      timers.delete(id);
      const stored = await jobs.get(id);
      if (stored !== undefined) offer(stored);
    };
    timers.set(
      id,
      setTimeout(() => void track(look(), id), Math.max(1, ms)),
    );
  };

  const isThere = (record: JobRecord): boolean => record.state === 'storing' || hasEnded(record);
  const { follow, stop: unfollow } = followJobs({ jobs, isThere, arrived: offer, track });

  return {
    follow,
    offer,
    async stop() {
      stopping.abort(new Error('the process stops'));
      turns.stop();
      for (const timer of timers.values()) clearTimeout(timer);
      unfollow();
      while (running.size > 0) await Promise.all(running);
    },
  };
}
