/** What differs between the callers of `submit`: how they admit, where the files come from, what is made of them, and how they answer. */
import type { JobRecord } from '../../jobs/record.ts';
import { inputKey } from '../../objects/keys.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ReservedShare } from '../admission/share.ts';
import type { Owned } from '../intake/owned.ts';
import type { Received, ReceivedFile } from '../intake/receive.ts';
import type { FileToFetch } from '../intake/references.ts';
import type { Counted } from '../intake/refusals.ts';
import type { FoundBatch, FoundJobs } from '../jobs/found.ts';
import type { Fetches } from './fetches.ts';

export interface SubmitRequest<T> {
  readonly ids: Ids;
  readonly wait: ClientWait;
  /** Before anything is read. @throws Failure `BAD_REQUEST`, `OVERLOADED`, `RATE_LIMITED`, `BANNED` */
  readonly admit: () => Promise<Admitted>;
  /** Called for a client that was admitted: a wrong name of a tool counts, too. */
  readonly open: () => { readonly source: SubmitSource; readonly work: SubmitWork };
  /** With the jobs as they are when the client is to be answered. */
  readonly answer: (submitted: SubmittedJobs) => T | Promise<T>;
}

/** The ids of what the request may create, chosen before it is read. */
export interface Ids {
  /** The id of the job or batch that an `Idempotency-Key` leads to. */
  readonly id: string;
  /** Undefined where there is no batch: all files belong to one job. */
  readonly batch?: string;
  /** In a batch, one for each file that may come. */
  readonly jobs: readonly string[];
}

export const oneJob = (id: string): Ids => ({ id, jobs: [id] });

/** @param jobs an id for each file that may come */
export const oneBatch = (batch: string, jobs: readonly string[]): Ids => ({ id: batch, batch, jobs });

/** The job of the file with this number. */
export const jobIdOf = ({ id, batch, jobs }: Ids, part: number): string => (batch === undefined ? id : (jobs[part] ?? ''));

/** Where the file with this number is stored. */
export const keyOf = (ids: Ids, part: number): string => inputKey(jobIdOf(ids, part), part);

/** How long a client waits for its answer. */
export interface ClientWait {
  /** `nothing`: it is answered at once; `files`: when those that it names are fetched; `end`: when its jobs have ended. */
  readonly for: 'nothing' | 'files' | 'end';
  /** From when its jobs are recorded, ms. */
  readonly ms: number;
  /** Not beyond this, by `performance.now()`. */
  readonly dueAt?: number;
  /** The end of a job with a larger input is not waited for, bytes. */
  readonly mostBytes?: number;
  /** Aborted when the client hangs up. */
  readonly gone: AbortSignal;
  /** Called as the jobs end, with how many have. */
  readonly onEnd?: (ended: number, all: number) => void;
}

export interface Admitted {
  /** The client's key, whose share of a pool its jobs count towards. */
  readonly client: string;
  /** Its address, or its /64; undefined where it is not known, and no connection is for it. */
  readonly network?: string;
  /** Start of the links that it is answered with; undefined where it came by no HTTP request. */
  readonly base?: string;
  /** Reserved for the first job. */
  readonly share: ReservedShare;
  /** Refunds the share where no work was done before this error. Never throws. */
  readonly refundAfter: (error: unknown) => Promise<void>;
  readonly idempotency: Idempotency;
  readonly log: Pick<Log, 'info'>;
}

/** How a request stands to its `Idempotency-Key`. At the end of the scope its claim on the key is removed, unless it is kept. */
export interface Idempotency extends Owned {
  readonly hasIdempotencyKey: boolean;
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
interface SuppliedFiles<F extends FilePart> extends Counted {
  readonly files: readonly F[];
}

export interface FilePart {
  /** Its number in the request, which it is stored by. */
  readonly part: number;
}

/** Files that jobs fetch: their client may have its answer before they are there. */
export interface ToFetch extends SuppliedFiles<FileToFetch> {
  readonly fetches: Fetches;
}

/** A request before its files are there; their number, where it is known. */
export type SentFields = Pick<Counted, 'fields'> & Partial<Counted>;

/** What is made of the files. */
export interface SubmitWork {
  /** Validates what needs no file: the fields, and how many files there are where that is known. @throws Failure */
  readonly check: (sent: SentFields) => void;
  /** @returns the jobs that the files become, whether they are there or not @throws Failure as `check` */
  readonly plan: <F extends FilePart>(brought: SuppliedFiles<F>) => readonly JobPlan<F>[];
}

/** One job, before its files are looked at. */
export interface JobPlan<F extends FilePart> {
  readonly id: string;
  readonly files: readonly F[];
  /** What is known of its record before. */
  readonly known: Pick<JobRecord, 'lane' | 'target'> & Partial<Pick<JobRecord, 'tool' | 'warnings' | 'webhook' | 'destination'>>;
  /** How many jobs it counts as: a recipe counts each of its conversions. Unset: one. */
  readonly cost?: number;
  /** Slugs of tools whose own limits it counts in, beyond what the request was admitted with. */
  readonly tools?: readonly string[];
  /** A file that is refused fails the job alone, and not the request. A fetched file always does. */
  readonly failsAlone?: boolean;
  /** The record that these files result in, not stored yet. @throws Failure */
  readonly validate: (files: readonly ReceivedFile[]) => Promise<JobRecord>;
}

export interface SubmittedJobs extends FoundJobs {
  /** An earlier request with the same key created them. */
  readonly isReplayed: boolean;
}

/** The only record of a request that creates one job. */
export function onlyRecord({ records: [record] }: FoundJobs): JobRecord {
  if (record === undefined) throw new Error('a request for one job has no record');
  return record;
}

/** A batch with the records of its jobs. */
export function wholeBatch({ batch, records }: FoundJobs): FoundBatch {
  if (batch === undefined) throw new Error('a request for a batch has none');
  return { batch, records };
}
