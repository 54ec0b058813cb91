/** Watches ConversionJobs, and reconciles each when it changes and when its job may have changed. */
import { ConversionJobStatus } from '../../contracts/kubernetes/conversion-job.ts';
import type { Encryption } from '../../jobs/encryption.ts';
import type { Kube } from '../../kube/connection/connect.ts';
import { isConflict, unlessNotFound } from '../../kube/connection/error.ts';
import type { Recorder } from '../../kube/events.ts';
import { createWorkQueue } from '../../kube/work-queue.ts';
import type { ControllerMetrics } from '../../telemetry/controller.ts';
import type { Log } from '../../telemetry/log.ts';
import { mirror, timed } from '../watched.ts';
import type { Ask } from './ask.ts';
import { reconcileConversionJob } from './reconcile.ts';
import { createRemovals } from './removals.ts';
import { CONVERSION_JOBS, type ConversionJobObject, isCompleted } from './resource.ts';
import { secretsBy } from './secrets.ts';
import { newJobTurns } from './turns.ts';

export interface ConversionJobsDeps {
  readonly kube: Kube;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  readonly ask: Ask;
  /** What Secrets are encrypted with; undefined if there is no key. */
  readonly encryption?: Pick<Encryption, 'encrypt'> | undefined;
  readonly uploadPausesMs?: readonly number[] | undefined;
  readonly recorder: Recorder;
  readonly mayAct: () => boolean;
  readonly metrics: Pick<ControllerMetrics, 'watching' | 'workQueue' | 'reconciled' | 'conversions'>;
  readonly log: Log;
  /** Ms since the epoch. */
  readonly clock: () => number;
}

export interface ConversionJobs {
  readonly synced: () => boolean;
  /** Starts to reconcile: this replica now holds the lease. */
  lead(): Promise<void>;
  close(): Promise<void>;
}

/** How many resources are reconciled at a time: each spends most of its time waiting for an answer. */
const AT_ONCE = 16;

export function startConversionJobs(given: ConversionJobsDeps): ConversionJobs {
  const { kube, ask, encryption, uploadPausesMs, recorder, mayAct, metrics, log, clock } = given;
  const jobs = mirror<ConversionJobObject>(given, { resource: CONVERSION_JOBS, trim: withoutCopies });
  metrics.conversions(() => countByPhase(jobs.objects().values()));
  /** Keys of unfinished resources: the API is asked about these only. */
  const unfinished = new Set<string>();
  const removals = createRemovals({ ask, clock });
  const turns = newJobTurns(
    () => performance.now(),
    (key) => work.add(key),
  );
  const deps = {
    kube,
    ask,
    secrets: secretsBy(kube, encryption),
    uploadPausesMs,
    recorder,
    clock,
    turns,
    unfinished: () => unfinished.size,
  };

  const work = createWorkQueue({
    concurrency: AT_ONCE,
    hooks: metrics.workQueue(CONVERSION_JOBS.plural),
    async work(key, signal) {
      if (!mayAct()) return undefined;
      const cancelAgain = await removals.cancel(key);
      const job = jobs.objects().get(key);
      if (job === undefined) return cancelAgain;
      if (cancelAgain !== undefined) work.addAfter(key, cancelAgain.againAfterMs);
      try {
        return await timed(metrics, 'conversionjob', () =>
          // The watch reports its removal.
          reconcileConversionJob(deps, job, signal).catch(unlessNotFound),
        );
      } catch (error) {
        // Our copy is old: the watch delivers the new one.
        if (!isConflict(error)) log.warn({ err: error }, 'reconciling a ConversionJob failed and will be retried');
        throw error;
      }
    },
  });
  const unsubscribe = jobs.onChange((key, now, before) => {
    if (now === undefined || isCompleted(now)) unfinished.delete(key);
    else unfinished.add(key);
    if (now === undefined) {
      work.forget(key);
      turns.forget(before?.metadata.namespace ?? '', key);
    }
    const isGone = before !== undefined && now?.metadata.uid !== before.metadata.uid;
    if (isGone && removals.add(key, before)) work.add(key);
    if (now !== undefined && (before === undefined || isNews(now, before))) work.add(key);
  });

  return {
    synced: () => jobs.synced,
    async lead() {
      await jobs.whenSynced();
      for (const key of [...removals.keys(), ...jobs.objects().keys()]) work.add(key);
    },
    async close() {
      unsubscribe();
      await work.close();
      await jobs.close();
    },
  };
}

/** Our own writes of the status do not count. */
const isNews = ({ metadata: now }: ConversionJobObject, { metadata: before }: ConversionJobObject): boolean =>
  now.uid !== before.uid || now.deletionTimestamp !== before.deletionTimestamp || now.finalizers?.length !== before.finalizers?.length;

/** Neither kubectl's annotations nor labels are read. */
function withoutCopies(job: ConversionJobObject): ConversionJobObject {
  const { annotations: _, labels: __, ...metadata } = job.metadata;
  return { ...job, metadata };
}

const PHASES = ConversionJobStatus.shape.phase.unwrap().options;

/** All phases, also those without a resource; one without a status is pending. */
function countByPhase(jobs: Iterable<ConversionJobObject>): Readonly<Record<string, number>> {
  const counts: Record<string, number> = Object.fromEntries(PHASES.map((phase) => [phase, 0]));
  for (const { status } of jobs) {
    const phase = status?.phase ?? 'Pending';
    // A newer controller may write others: an unknown phase creates no series.
    if (counts[phase] !== undefined) counts[phase]++;
  }
  return counts;
}
