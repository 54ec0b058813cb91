/** A worker that is not well takes no orders: who fails fastest would take most of them. It tries itself until it is. */
import { type Fault, faultOf } from '../contracts/messages/fault.ts';
import { Failure } from '../errors.ts';
import { onAbort } from '../streams/abort.ts';
import type { Log } from '../telemetry/log.ts';
import type { Checks } from './checks.ts';
import { classifyError } from './failure.ts';

export interface Health {
  /** Undefined while it is well. */
  readonly fault: Fault | undefined;
  /** Resolves when it may take an order: at once, as a rule; or when the signal is aborted. */
  ready(signal: AbortSignal): Promise<void>;
  /**
   * Finds out whether what a conversion threw was the worker's own fault.
   * @returns `own`: it is not well. `doubtful`: it was, or the file is too much for it. Undefined: it was not.
   */
  classifyError(error: unknown): Promise<'own' | 'doubtful' | undefined>;
  /** Calls back when it falls ill, and when it is well again. */
  onChange(callback: (fault: Fault | undefined) => void): void;
  close(): void;
}

/** Between two trials of one that is not well, ms. */
const TRY_MS = 2_000;
/** Between two looks at one that is, ms. */
const LOOK_MS = 5_000;
/** What the disk had is believed for so long, ms: slots ask before each order. */
const FRESH_MS = 250;
/** How long a trial that went well is believed when a conversion fails, ms. */
const FRESH_TRIAL_MS = 1_000;
/** Failures that may have been the disk's, or those of a program that is half gone. */
const SUSPICIOUS: ReadonlySet<unknown> = new Set([
  'corrupt_input',
  'engine_crashed',
  'output_invalid',
  'no_stream',
  'internal',
  'engine_missing',
]);

/** @param others whether an order that needs what is not installed here may be for another worker */
export function watchHealth(checks: Checks, { others }: { readonly others: boolean }, log: Log): Health {
  const callbacks: ((fault: Fault | undefined) => void)[] = [];
  let fault: Fault | undefined;
  let well = Promise.withResolvers<void>();
  well.resolve();
  let lookedAt = Number.NEGATIVE_INFINITY;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const become = (next: Fault | undefined): void => {
    const before = fault;
    fault = next;
    if (before?.reason === next?.reason) return;
    if (next === undefined) {
      log.info({ reason: before?.reason }, 'the worker is well again: it takes orders');
      well.resolve();
    } else {
      log.error({ reason: next.reason, fault: next.message }, 'the worker is not well: it takes no orders until it is');
      if (before === undefined) well = Promise.withResolvers();
    }
    for (const callback of callbacks) callback(next);
  };
  const again = (): void => {
    clearTimeout(timer);
    if (!closed) timer = setTimeout(() => void look(), fault === undefined ? LOOK_MS : TRY_MS);
  };
  let triedAt = Number.NEGATIVE_INFINITY;
  let trying: Promise<Fault | undefined> | undefined;
  /** One at a time: slots that fail together ask together. */
  const look = (): Promise<Fault | undefined> => {
    trying ??= tryEverything().finally(() => {
      trying = undefined;
      triedAt = performance.now();
    });
    return trying;
  };
  const tryEverything = async (): Promise<Fault | undefined> => {
    const found = await checks.everything().catch((error: unknown) => faultOf('disk_broken', `it could not try itself: ${String(error)}`));
    if (!closed) become(found);
    again();
    return found;
  };
  const room = async (): Promise<void> => {
    if (performance.now() - lookedAt < FRESH_MS) return;
    lookedAt = performance.now();
    const found = await checks.room();
    if (found === undefined || closed) return;
    become(found);
    again();
  };
  again();

  return {
    get fault() {
      return fault;
    },

    async ready(signal) {
      if (fault === undefined) await room();
      while (fault !== undefined && !signal.aborted) {
        const aborted = Promise.withResolvers<void>();
        const unsubscribe = onAbort(signal, () => aborted.resolve());
        await Promise.race([well.promise, aborted.promise]).finally(unsubscribe);
      }
    },

    async classifyError(error) {
      const reason = classifyError(error);
      const suspect = reason === 'engine_missing' && !others ? undefined : reason;
      const isSuspicious = error instanceof Failure && error.code === 'CONVERSION_FAILED' && SUSPICIOUS.has(error.details['reason']);
      if (suspect === undefined && !isSuspicious) return undefined;
      // Files that are damaged come in crowds: for them alone a trial that has just gone well is not made again.
      const isFresh = fault === undefined && performance.now() - triedAt < FRESH_TRIAL_MS;
      if (suspect === undefined && isFresh && (await checks.room()) === undefined) return undefined;
      // One that began before the failure may have passed what is broken now.
      await trying;
      const found = await look();
      if (found === undefined)
        return suspect === undefined ? undefined : suspect === 'disk_full' || suspect === 'launcher' ? 'doubtful' : 'own';
      // One that filled the disk itself would fill the next one's too.
      if (found.reason === 'disk_full' && (await checks.isFilledByJobs().catch(() => false))) return 'doubtful';
      return 'own';
    },

    onChange(callback) {
      callbacks.push(callback);
    },

    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
