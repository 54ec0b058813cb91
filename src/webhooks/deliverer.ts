/** Sends the messages of jobs that have ended: from a job's end on, or when upkeep finds one that is due, and each attempt by one process alone. */
import { Failure } from '../errors.ts';
import type { Sender } from '../fetch/send.ts';
import { hostOf, startTurns, type Turn } from '../fetch/send-queue.ts';
import type { Encryption } from '../jobs/encryption.ts';
import { followJobs } from '../jobs/follow.ts';
import { hasEnded, visibility } from '../jobs/lifecycle.ts';
import type { JobRecord } from '../jobs/record.ts';
import type { Durability, JobStore, Stored } from '../jobs/store.ts';
import { updateRecord } from '../jobs/update.ts';
import {
  type Attempted,
  claimDelivery,
  endAttempt,
  giveUpDelivery,
  isUndelivered,
  type WebhookTarget,
  webhookTarget,
} from '../jobs/webhook.ts';
import type { Log } from '../telemetry/log.ts';
import { afterAttempt, type Ended } from './decide.ts';
import type { WebhookSettings } from './settings.ts';
import type { SigningKeys } from './signing.ts';

export interface DelivererDeps {
  readonly jobs: Pick<JobStore, 'get' | 'update' | 'watch'>;
  /** Undefined where each change is durable when it is made. */
  readonly durability?: Durability | undefined;
  readonly encryption: Encryption;
  readonly sender: Sender;
  readonly keys: SigningKeys;
  /** The message: the job as its own address answers. @param base of its links @param requestId told in an error */
  readonly body: (record: JobRecord, base: string | undefined, requestId: string) => Promise<object>;
  readonly settings: WebhookSettings;
  /** Ms since the epoch. */
  readonly clock: () => number;
  readonly random?: () => number;
  /** Ms since the epoch; see `dueAt`. */
  readonly aloneSince?: number | undefined;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** @param outcome from a fixed set */
  readonly onAttempt: (outcome: WebhookOutcome, seconds: number) => void;
}

export type WebhookOutcome = 'delivered' | 'failed' | 'again';

export interface Deliverer {
  /** A job that was accepted here: its end is noticed at once. */
  follow(id: string): void;
  /** A job whose message may be due. Returns at once. */
  offer(stored: Stored): void;
  /** Attempts that are under way are made again by another process, or after a restart. */
  stop(): Promise<void>;
}

/** For one attempt, ms: much less than its lease. */
const ATTEMPT_MS = 30_000;
/** The error of an attempt that this process broke off. */
const INTERRUPTED = 'interrupted';

interface Waiting extends Turn {
  readonly id: string;
  readonly target: WebhookTarget;
}

/** The job was deleted, or another process has its message. */
class Withdrawn extends Error {
  override readonly name = 'Withdrawn';
}

export function startDeliverer(deps: DelivererDeps): Deliverer {
  const { jobs, durability, encryption, sender, keys, body, settings, clock, random = Math.random, aloneSince, log, onAttempt } = deps;
  const { follow, track, again, stopping, stop } = followJobs({
    jobs,
    isThere: hasEnded,
    offer: (stored) => offer(stored),
    failed: (id, err) => log.warn({ job_id: id, err }, 'a message of a webhook could not be handled; it is tried again'),
  });

  /** Those that wait for their turn or are being sent. */
  const turns = startTurns<Waiting>(settings, (turn) => track(deliver(turn), turn.id));

  const offer = ({ record, revision }: Stored): void => {
    if (stopping.aborted || turns.has(record.id) || !isUndelivered(record)) return;
    if (visibility(record, clock()) !== 'live') {
      void track(giveUp({ record, revision }), record.id);
      return;
    }
    if (claimDelivery(record, clock(), aloneSince) === undefined) return;
    const target = readTarget(record.id, record.webhook.sealed);
    if (target === undefined) return;
    turns.add({ id: record.id, target, host: hostOf(target.url), client: target.client });
  };

  const readTarget = (id: string, sealed: string): WebhookTarget | undefined => {
    try {
      return webhookTarget(encryption, id, sealed);
    } catch {
      // Another process may know the key. Not the cause: it could tell of what was inside.
      log.warn({ job_id: id }, 'the webhook of this job was encrypted with a key that is not known here');
      return undefined;
    }
  };

  const giveUp = async (stored: Stored): Promise<void> => {
    await updateRecord(jobs, stored.record.id, giveUpDelivery, stored);
    onAttempt('failed', 0);
  };

  async function deliver({ id, target }: Waiting): Promise<void> {
    const claimed = await updateRecord(jobs, id, (record) => claimDelivery(record, clock(), aloneSince));
    if (claimed === undefined || claimed.record.webhook === undefined) return;
    const { attempts } = claimed.record.webhook;
    const begun = performance.now();
    const ended = await attempt(claimed, target).catch((error: unknown) => endedBy(error));
    if (ended === undefined) return;
    let outcome: WebhookOutcome = 'again';
    let pauseMs: number | undefined;
    const stored = await updateRecord(jobs, id, (record) => {
      const { expiresAt } = record;
      const next =
        ended.error === INTERRUPTED ? { nextAt: clock() } : afterAttempt(ended, attempts, { now: clock(), expiresAt, random: random() });
      outcome = typeof next === 'string' ? next : 'again';
      pauseMs = typeof next === 'string' ? undefined : next.nextAt - clock();
      return endAttempt(record, ended, next);
    });
    // It was deleted meanwhile.
    if (stored === undefined) return;
    onAttempt(outcome, (performance.now() - begun) / 1_000);
    if (pauseMs !== undefined) again(id, pauseMs);
    const { status, error } = ended;
    log.info({ job_id: id, attempt: attempts, status, error, outcome }, 'an attempt to send a webhook ended');
  }

  async function attempt({ record, revision }: Stored, { url, secret, base }: WebhookTarget): Promise<Ended> {
    const messageId = record.webhook?.messageId ?? record.id;
    const since = durability?.losses;
    const content = Buffer.from(JSON.stringify(await body(record, base, messageId)));
    // Connecting takes a while: nothing is sent for a job that was deleted meanwhile.
    const confirm = async (): Promise<void> => {
      if ((await jobs.get(record.id))?.revision !== revision) throw new Withdrawn();
      // The message tells of an end that a crash must not take back.
      durability?.commit(since);
    };
    const headers = keys.headers(messageId, content, clock(), secret);
    const sent = { method: 'POST', type: 'application/json', bytes: content.length, content } as const;
    return sender.send({ url, headers, body: sent, totalMs: ATTEMPT_MS, confirm }, stopping);
  }

  /** @returns undefined where no attempt was made @throws what is our own trouble */
  function endedBy(error: unknown): Attempted | undefined {
    if (error instanceof Withdrawn) return undefined;
    if (stopping.aborted) return { error: INTERRUPTED };
    if (!(error instanceof Failure)) throw error;
    const { reason } = error.details;
    return { error: error.code === 'URL_REFUSED' && typeof reason === 'string' ? reason : 'unavailable' };
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
