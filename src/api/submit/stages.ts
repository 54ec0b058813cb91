/** What differs between the callers of `submit`: how they admit, where the files come from, what is made of them, and how they answer. */
import type { BatchRecord } from '../../jobs/batch.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { inputKey } from '../../objects/keys.ts';
import type { ReservedShare } from '../admission/share.ts';
import type { Owned } from '../intake/owned.ts';
import type { Received, ReceivedFile } from '../intake/receive.ts';
import type { FileToFetch } from '../intake/references.ts';
import type { Counted } from '../intake/refusals.ts';
import type { CreatedJob } from './enqueue.ts';
import type { Fetches } from './fetches.ts';

export interface SubmitRequest<T> {
  readonly ids: Ids;
  /** Before anything is read. @throws Failure `BAD_REQUEST`, `OVERLOADED`, `RATE_LIMITED`, `BANNED` */
  readonly admit: () => Promise<Admitted>;
  /** Called for a client that was admitted: a wrong name of a tool counts, too. */
  readonly open: () => { readonly source: SubmitSource; readonly work: SubmitWork };
  readonly answer: SubmitAnswer<T>;
}

/** The ids of what the request may create, chosen before it is read. */
export interface Ids {
  /** The id of the job or batch that an `Idempotency-Key` leads to. */
  readonly id: string;
  /** Undefined where there is no batch: all files belong to one job. */
  readonly batch?: string;
  readonly jobOf: (part: number) => string;
  /** Where the file with this number is stored. */
  readonly keyOf: (part: number) => string;
}

export const oneJob = (id: string): Ids => ({ id, jobOf: () => id, keyOf: (part) => inputKey(id, part) });

/** @param jobs an id for each file that may come */
export const oneBatch = (batch: string, jobs: readonly string[]): Ids => ({
  id: batch,
  batch,
  jobOf: (part) => jobs[part] ?? '',
  keyOf: (part) => inputKey(jobs[part] ?? '', part),
});

export interface Admitted {
  /** The client's key, whose share of a pool its jobs count towards. */
  readonly client: string;
  /** Reserved for the first job. */
  readonly share: ReservedShare;
  /** Whether the share is refunded after this error. */
  readonly isRefunded: (error: unknown) => boolean;
  readonly idempotency: Idempotency;
  readonly log: { readonly warn: (about: object, message: string) => void };
}

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

/** Where the files come from. */
export interface SubmitSource {
  /** Reads the request. Files in it are stored, and files that it names are not brought yet. @param isRepeated by its key */
  readonly receive: (isRepeated: boolean) => Promise<Received>;
  /**
   * Brings the files that the request names, all of them or none.
   * @param check to be called before any file is fetched here
   * @returns what was received with the files, or with what the jobs are to fetch; of a wrong number of files only their count
   */
  readonly bring: (sent: Received, check: SubmitWork['check']) => Promise<Received | ToFetch>;
}

/** A request with its files, which are there or are to be fetched. */
interface Brought<F extends Numbered> extends Counted {
  readonly files: readonly F[];
}

export interface Numbered {
  /** Its number in the request, which it is stored by. */
  readonly part: number;
}

/** Files that jobs fetch: their client may have its answer before they are there. */
export interface ToFetch extends Brought<FileToFetch> {
  readonly fetches: Fetches;
  /** @param left called when the client hangs up @returns what the work returns; undefined where the client is to be answered before */
  readonly beforeAnswer: <T>(work: Promise<T>, left: () => void) => Promise<T | undefined>;
}

/** A request before its files are there; their number, where it is known. */
export type Sent = Pick<Counted, 'fields'> & Partial<Counted>;

/** What is made of the files. */
export interface SubmitWork {
  /** Validates what needs no file: the fields, and how many files there are where that is known. @throws Failure */
  readonly check: (sent: Sent) => void;
  /** @returns the jobs that the files become, whether they are there or not @throws Failure as `check` */
  readonly plan: <F extends Numbered>(brought: Brought<F>) => readonly JobPlan<F>[];
}

/** One job, before its files are looked at. */
export interface JobPlan<F extends Numbered> {
  readonly id: string;
  readonly files: readonly F[];
  /** What its record has while its files are fetched. */
  readonly known: Pick<JobRecord, 'lane' | 'target'> & Partial<Pick<JobRecord, 'tool'>>;
  /** The record that these files result in, not stored yet. @throws Failure */
  readonly validate: (files: readonly ReceivedFile[]) => Promise<JobRecord>;
  /**
   * The record of a failed job, for files that are there, where this error fails the job alone. A fetched file always does.
   * @throws the error, where it refuses the request, as every error does without this
   */
  readonly refused?: (files: readonly ReceivedFile[], error: unknown) => Promise<JobRecord>;
}

/** The jobs of a request on their way to a queue. */
export interface PlannedJobs {
  readonly ids: readonly string[];
  /** @returns the records, not stored yet; of a job whose files are to be fetched, what is known before @throws Failure */
  readonly validate: () => Promise<readonly JobRecord[]>;
  /** @returns the jobs that are queued, or will be when their files are fetched @throws Failure; unless `keep` was called, the jobs are to be undone */
  readonly enqueue: (created: CreatedForClient) => Promise<readonly JobRecord[]>;
}

export interface CreatedForClient {
  readonly jobs: readonly CreatedJob[];
  /** The client's key, whose share of a pool the jobs count towards. */
  readonly client: string;
  /** The client has a key by which it finds the jobs again. */
  readonly mayReturn: boolean;
  /** From here on the jobs stay, whatever becomes of the request. */
  readonly keep: () => void;
  /** Reads the jobs again. */
  readonly find: () => Promise<FoundJobs>;
}

/** What there is: of one job its record, of a batch those of all its jobs. */
export interface FoundJobs {
  readonly records: readonly JobRecord[];
  readonly batch?: BatchRecord;
}

export interface SubmittedJobs extends FoundJobs {
  /** The client has a key by which it finds the job again. */
  readonly mayReturn: boolean;
  /** An earlier request with the same key created them. */
  readonly isReplayed: boolean;
  /** How much of its wait is over, ms. */
  readonly waitedMs: number;
}

export interface SubmitAnswer<T> {
  /** What an earlier request under the same key created. @throws Failure `JOB_EXPIRED`; `OVERLOADED` where that request has just taken it back */
  readonly find: (id: string) => Promise<FoundJobs>;
  readonly log: (submitted: SubmittedJobs) => void;
  /** @returns the jobs as they are when the client is to be answered */
  readonly wait: (submitted: SubmittedJobs) => Promise<SubmittedJobs>;
  readonly respond: (submitted: SubmittedJobs) => T | Promise<T>;
}

/** The only record of a request that creates one job. */
export function onlyRecord({ records: [record] }: FoundJobs): JobRecord {
  if (record === undefined) throw new Error('a request for one job has no record');
  return record;
}
