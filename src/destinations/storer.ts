/** Stores the results of jobs where their clients want them: from the end of a conversion on, or when upkeep finds one that is due, and each attempt by one process alone. */
import { Failure } from '../errors.ts';
import { startTurns, type Turn } from '../fetch/send-queue.ts';
import {
  claimStoring,
  type DestinationTarget,
  destinationTarget,
  endStoring,
  giveUpStoring,
  isDueToStore,
  isIdleStoring,
  isStoring,
  renewStoring,
  type StoringEnd,
  type StoringRecord,
} from '../jobs/destination.ts';
import type { Encryption } from '../jobs/encryption.ts';
import { followJobs } from '../jobs/follow.ts';
import { hasEnded } from '../jobs/lifecycle.ts';
import type { JobRecord } from '../jobs/record.ts';
import type { Durability, JobStore, Stored } from '../jobs/store.ts';
import { updateRecord } from '../jobs/update.ts';
import { Missing } from '../objects/store.ts';
import { onAbort } from '../streams/abort.ts';
import type { Log } from '../telemetry/log.ts';
import { afterStoring, type StoringAttempt } from './decide.ts';
import type { DestinationSettings } from './settings.ts';

export interface StorerDeps {
  readonly jobs: Pick<JobStore, 'get' | 'update' | 'watch'>;
  /** Undefined where each change is durable when it is made. */
  readonly durability?: Durability | undefined;
  readonly encryption: Encryption;
  /** Sends the result; undefined where none is stored elsewhere any more. @param confirm called before its first byte is sent; where it throws, nothing is @throws Failure · what the object store throws · the reason of `signal` */
  readonly put: PutResult | undefined;
  /** The host that a result is sent to, as far as its turns go; undefined where its connection is not known any more. */
  readonly hostOf: (target: DestinationTarget) => string | undefined;
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

export type PutResult = (
  record: StoringRecord,
  target: DestinationTarget,
  confirm: () => Promise<void>,
  signal: AbortSignal,
) => Promise<StoringAttempt>;

export type StoringOutcome = 'stored' | 'failed' | 'again';

export interface Storer {
  /** A job that was accepted here: the end of its conversion is noticed at once. */
  follow(id: string): void;
  /** A job whose result may be due. Returns at once. */
  offer(stored: Stored): void;
  /** Attempts that are under way are made again by another process, or after a restart. */
  stop(): Promise<void>;
}

/** How long others have to store a result that this process cannot, ms: new settings and keys come to one process after the other. */
const OTHERS_MS = 10 * 60_000;
/** How often an attempt that goes on is made known, ms: much less than its lease. */
const RENEW_MS = 15_000;
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
  const {
    jobs,
    durability,
    encryption,
    put,
    hostOf,
    ended,
    onCancel,
    settings,
    clock,
    random = Math.random,
    aloneSince,
    log,
    onAttempt,
    onEnd,
  } = deps;
  const { follow, track, again, stopping, stop } = followJobs({
    jobs,
    isThere: (record) => record.state === 'storing' || hasEnded(record),
    offer: (stored) => offer(stored),
    failed: (id, err) => log.warn({ job_id: id, err }, 'a result could not be handed over; it is tried again'),
  });
  const turns = startTurns<Waiting>(settings, (turn) => track(store(turn), turn.id));

  const offer = ({ record, revision }: Stored): void => {
    if (stopping.aborted || turns.has(record.id) || !isIdleStoring(record, clock(), aloneSince)) return;
    const turn = turnOf(record);
    if (typeof turn === 'string') {
      const since = Math.max(record.queuedAt ?? record.createdAt, record.destination.nextAt);
      if (aloneSince !== undefined || clock() - since > OTHERS_MS) void track(giveUp({ record, revision }, turn), record.id);
    } else if (isDueToStore(record, clock(), aloneSince)) turns.add(turn);
  };

  /** @returns why there can be none, as after a restart with other settings */
  function turnOf({ id, destination }: StoringRecord): Waiting | 'disabled' | 'key' | 'connection' {
    if (put === undefined) return 'disabled';
    const target = readTarget(id, destination.sealed);
    if (target === undefined) return 'key';
    const host = hostOf(target);
    return host === undefined ? 'connection' : { id, target, host, client: target.client };
  }

  function readTarget(id: string, sealed: string): DestinationTarget | undefined {
    try {
      return destinationTarget(encryption, id, sealed);
    } catch {
      // Not the cause: it could tell of what was inside.
      return undefined;
    }
  }

  async function giveUp(stored: Stored, why: string): Promise<void> {
    const decide = (record: JobRecord) => (isIdleStoring(record, clock(), aloneSince) ? giveUpStoring(record, clock(), why) : undefined);
    const ended = await updateRecord(jobs, stored.record.id, decide, stored);
    if (ended !== undefined) tellEnd(ended.record);
  }

  function tellEnd(record: JobRecord): void {
    onEnd(record);
    ended(record.id);
  }

  async function store({ id, target }: Waiting): Promise<void> {
    const since = durability?.losses;
    const claimed = await updateRecord(jobs, id, (record) => claimStoring(record, clock(), aloneSince));
    if (claimed === undefined) return;
    // Too many attempts have ended with their processes.
    if (!isStoring(claimed.record)) return tellEnd(claimed.record);
    const { attempts } = claimed.record.destination;
    const begun = performance.now();
    const end = await attempt(claimed.record, target, since).catch((error: unknown) => endedBy(id, error));
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
    if (hasEnded(stored.record)) tellEnd(stored.record);
  }

  async function attempt(record: StoringRecord, target: DestinationTarget, since: number | undefined): Promise<StoringAttempt> {
    if (put === undefined) throw new Error('an attempt where none is made');
    const { attempts } = record.destination;
    const over = new AbortController();
    const withdraw = () => over.abort(new Withdrawn());
    const renew = async (): Promise<void> => {
      if ((await updateRecord(jobs, record.id, (latest) => renewStoring(latest, attempts, clock()))) === undefined) throw new Withdrawn();
    };
    const timer = setInterval(() => void renew().catch((error: unknown) => error instanceof Withdrawn && withdraw()), RENEW_MS);
    const subscriptions = [onCancel(record.id, withdraw), onAbort(stopping, (reason) => over.abort(reason))];
    try {
      const confirm = async (): Promise<void> => {
        await renew();
        // A process that dies of what it sends has to count.
        durability?.commit(since);
      };
      return await put(record, target, confirm, over.signal);
    } finally {
      clearInterval(timer);
      for (const unsubscribe of subscriptions) unsubscribe();
    }
  }

  /** @returns undefined where no attempt was made */
  function endedBy(id: string, error: unknown): StoringEnd | undefined {
    if (error instanceof Withdrawn) return undefined;
    if (stopping.aborted) return { error: INTERRUPTED };
    const { reason, limit } = error instanceof Failure && error.code === 'URL_REFUSED' ? error.details : {};
    if (typeof reason === 'string') return { error: limit === 'total' ? 'timeout' : reason };
    log.warn({ job_id: id, err: error }, 'this service could not send a result');
    return { error: error instanceof Missing ? 'missing' : 'unavailable' };
  }

  return {
    follow,
    offer,
    async stop() {
      turns.stop();
      await stop();
    },
  };
}
