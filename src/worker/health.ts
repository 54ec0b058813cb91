/** Stops an unhealthy worker from taking orders, since a worker that fails fast would take most of them, and checks it until it has recovered. */
import { type Fault, faultOf } from '../contracts/messages/fault.ts';
import { Failure } from '../errors.ts';
import { onAbort } from '../streams/abort.ts';
import type { Log } from '../telemetry/log.ts';
import type { Checks } from './checks.ts';
import { classifyError, isEngineBroken } from './failure.ts';

export interface EngineHealth {
  /** Undefined while the worker is healthy. */
  readonly fault: Fault | undefined;
  /**
   * Resolves when the worker may take an order (usually at once), or when the signal is aborted.
   * @returns aborted when the worker becomes unhealthy
   */
  ready(signal: AbortSignal): Promise<AbortSignal>;
  /** For an order that was waited for: whether the worker may still take it, which has less room than it had, perhaps. */
  isReady(): Promise<boolean>;
  /**
   * Finds out whether the worker caused a conversion's error.
   * @returns `own`: the worker is unhealthy. `doubtful`: it was unhealthy a moment ago, one of its engines does not work, or the file is too
   * large for it. Undefined: the worker did not cause the error.
   */
  classifyError(error: unknown): Promise<'own' | 'doubtful' | undefined>;
  /** Checks everything that an order needs, from now on. @returns what is wrong */
  check(): Promise<Fault | undefined>;
  /** Calls back when the worker becomes unhealthy, and when it has recovered. */
  onChange(callback: (fault: Fault | undefined) => void): void;
  close(): void;
}

/** Pause between two checks of an unhealthy worker, ms. */
const UNHEALTHY_CHECK_MS = 2_000;
/** Pause between two checks of a healthy worker, ms, and how many of them are glances before one of everything. */
const HEALTHY_CHECK_MS = 5_000;
const GLANCES = 11;
/** How long a measurement of free disk space stays valid, ms: every slot asks before each order. */
const ROOM_VALID_MS = 250;
/** Failures that a broken disk or a half-removed program may have caused. */
const SUSPICIOUS: ReadonlySet<unknown> = new Set([
  'corrupt_input',
  'engine_crashed',
  'output_invalid',
  'no_stream',
  'internal',
  'engine_missing',
]);

/** @param others whether another worker may have the programs that are missing here */
export function watchHealth(checks: Checks, { others }: { readonly others: boolean }, log: Log): EngineHealth {
  const callbacks: ((fault: Fault | undefined) => void)[] = [];
  let fault: Fault | undefined;
  let healthy = Promise.withResolvers<void>();
  let ending = new AbortController();
  healthy.resolve();
  let measuredAt = Number.NEGATIVE_INFINITY;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const setFault = (next: Fault | undefined): void => {
    const before = fault;
    fault = next;
    if (before?.reason === next?.reason) return;
    if (next === undefined) {
      log.info({ reason: before?.reason }, 'the worker has recovered and takes orders again');
      ending = new AbortController();
      healthy.resolve();
    } else {
      log.error({ reason: next.reason, fault: next.message }, 'the worker is unhealthy: it takes no orders until it has recovered');
      if (before === undefined) healthy = Promise.withResolvers();
      ending.abort();
    }
    for (const callback of callbacks) callback(next);
  };
  const schedule = (): void => {
    clearTimeout(timer);
    if (closed) return;
    const next = fault !== undefined || glances >= GLANCES ? check : glance;
    timer = setTimeout(() => void next(), fault === undefined ? HEALTHY_CHECK_MS : UNHEALTHY_CHECK_MS);
  };
  let glances = GLANCES;
  const glance = async (): Promise<void> => {
    glances++;
    // What it finds is found again by the check that follows, or is gone.
    const isFine = await checks.glance().then(
      (found) => found === undefined,
      () => false,
    );
    if (isFine) schedule();
    else await check();
  };
  let checking: Promise<Fault | undefined> | undefined;
  /** One check at a time: slots that fail together share it. */
  const check = (): Promise<Fault | undefined> => {
    checking ??= checkEverything().finally(() => {
      checking = undefined;
    });
    return checking;
  };
  const checkEverything = async (): Promise<Fault | undefined> => {
    glances = 0;
    const found = await checks
      .everything()
      .catch((error: unknown) => faultOf('disk_broken', `the worker could not check itself: ${String(error)}`));
    if (!closed) setFault(found);
    schedule();
    return found;
  };
  let again: Promise<Fault | undefined> | undefined;
  /** A check that begins after the call: one under way may have missed what is broken now. All who ask before it begins share it. */
  const checkAgain = (): Promise<Fault | undefined> => {
    again ??= (async () => {
      do await checking?.catch(() => undefined);
      while (checking !== undefined);
      // Later callers need a newer check.
      again = undefined;
      return await check();
    })();
    return again;
  };
  const checkRoom = async (): Promise<void> => {
    if (performance.now() - measuredAt < ROOM_VALID_MS) return;
    measuredAt = performance.now();
    const found = await checks.room();
    if (found === undefined || closed) return;
    setFault(found);
    schedule();
  };
  schedule();

  return {
    get fault() {
      return fault;
    },

    async ready(signal) {
      if (fault === undefined) await checkRoom();
      while (fault !== undefined && !signal.aborted) {
        const aborted = Promise.withResolvers<void>();
        const unsubscribe = onAbort(signal, () => aborted.resolve());
        await Promise.race([healthy.promise, aborted.promise]).finally(unsubscribe);
      }
      return ending.signal;
    },

    async isReady() {
      if (fault === undefined) await checkRoom();
      return fault === undefined;
    },

    check: checkAgain,

    async classifyError(error) {
      // A trial found it out while the worker was healthy.
      if (isEngineBroken(error)) return 'doubtful';
      const reason = classifyError(error);
      const suspect = reason === 'engine_missing' && !others ? undefined : reason;
      const isSuspicious = error instanceof Failure && error.code === 'CONVERSION_FAILED' && SUSPICIOUS.has(error.details['reason']);
      if (suspect === undefined && !isSuspicious) return undefined;
      const found = await checkAgain();
      if (found === undefined)
        return suspect === undefined ? undefined : suspect === 'disk_full' || suspect === 'launcher' ? 'doubtful' : 'own';
      // A conversion that filled the disk would fill another worker's disk too.
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
