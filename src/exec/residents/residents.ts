/** Programs that stay warm between one slot's conversions: replaced as they age, and never used again once something went wrong. */
import type { StepLimits } from '../../catalog/engine.ts';
import { onAbort } from '../../streams/abort.ts';
import type { Launcher } from '../confine/confine.ts';
import type { Slot } from '../files/workspace.ts';
import type { Files } from './handover.ts';
import type { Answer } from './messages.ts';
import { type Asking, type BreakReason, type Program, ResidentBroken, ResidentProcess } from './process.ts';

export interface Residents {
  /** One request at a time for each key. @throws ResidentBroken */
  ask(key: string, program: Program, request: Readonly<Record<string, unknown>>, files: Files, asking: Asking): Promise<Answer>;
  /** Process id of the supervisor of the one that serves now. */
  pid(key: string): number | undefined;
  /** Resolves when no process and no folder is left. */
  close(): Promise<void>;
}

export interface ResidentOptions {
  readonly launcher: Launcher;
  readonly slot: Slot;
  /** Conversions of one program before it is replaced; 1 means that none is used twice. */
  readonly perLife: number;
  /** Resident bytes of a program and its children, between requests, above which it is replaced. */
  readonly leakBytes: number;
  /** `used` and `leak` are the ordinary ways to end. */
  readonly onReplaced?: (key: string, why: BreakReason | 'used' | 'leak') => void;
}

/** The programs under one key: one that serves, and at times one that is to replace it. */
interface Resident {
  current: ResidentProcess | undefined;
  /** Settles when it can serve. */
  next: Promise<ResidentProcess> | undefined;
  busy: boolean;
  /** What waits for the present request to end. */
  whenIdle: (() => void) | undefined;
}

export function openResidents({ launcher, slot, perLife, leakBytes, onReplaced = () => {} }: ResidentOptions): Residents {
  const residents = new Map<string, Resident>();
  const ending = new Set<Promise<void>>();
  let started = 0;
  let closed = false;

  const dismiss = (one: ResidentProcess | undefined): void => {
    if (one === undefined) return;
    const gone = one.end().finally(() => ending.delete(gone));
    ending.add(gone);
  };

  /** Begins a start, unless one is under way. One that fails leaves nothing behind. */
  const begin = (resident: Resident, program: Program, limits: StepLimits): Promise<ResidentProcess> => {
    if (closed) return Promise.reject(new ResidentBroken('cancelled', 'the residents are closed'));
    if (resident.next !== undefined) return resident.next;
    const next = ResidentProcess.start({ launcher, slot, name: `r${++started}` }, program, limits);
    resident.next = next;
    next.catch(() => {
      if (resident.next === next) resident.next = undefined;
    });
    return next;
  };

  /** Puts the replacement in, once it can serve. */
  const swap = (resident: Resident, fresh: ResidentProcess): void => {
    if (closed || resident.current === fresh) return;
    dismiss(resident.current);
    resident.current = fresh;
    resident.next = undefined;
  };

  const take = async (resident: Resident, program: Program, limits: StepLimits): Promise<ResidentProcess> => {
    const { current } = resident;
    if (current !== undefined && !current.over && (perLife > 1 || current.served === 0)) return current;
    swap(resident, await begin(resident, program, limits));
    if (closed || resident.current === undefined) throw new ResidentBroken('cancelled', 'the residents are closed');
    return resident.current;
  };

  /** Looks at a program after a request. An old one goes on serving until its replacement is ready. */
  const age = async (key: string, resident: Resident, one: ResidentProcess, program: Program, limits: StepLimits): Promise<void> => {
    const why = one.served >= perLife ? 'used' : one.residentBytes() > leakBytes ? 'leak' : undefined;
    if (why === undefined || resident.next !== undefined || resident.current !== one || one.over || closed) return;
    onReplaced(key, why);
    const fresh = await begin(resident, program, limits);
    if (!resident.busy) swap(resident, fresh);
    else resident.whenIdle = () => swap(resident, fresh);
  };

  return {
    async ask(key, program, request, files, asking) {
      const resident = residents.get(key) ?? { current: undefined, next: undefined, busy: false, whenIdle: undefined };
      residents.set(key, resident);
      if (resident.busy) throw new Error(`the resident ${key} is asked twice at once`);
      resident.busy = true;
      let one: ResidentProcess | undefined;
      try {
        one = await unlessAborted(asking.signal, take(resident, program, asking.limits));
        const answer = await one.serve(request, files, asking);
        // A replacement that does not start is tried again after the next request.
        void age(key, resident, one, program, asking.limits).catch(() => {});
        return answer;
      } catch (error) {
        // Whoever leaves before anything was asked has broken nothing.
        if (error instanceof ResidentBroken && (one !== undefined || error.why !== 'cancelled')) onReplaced(key, error.why);
        throw error;
      } finally {
        resident.busy = false;
        resident.whenIdle?.();
        resident.whenIdle = undefined;
      }
    },
    pid: (key) => residents.get(key)?.current?.pid,
    async close() {
      closed = true;
      for (const { current, next } of residents.values()) {
        dismiss(current);
        if (next !== undefined) await next.then(dismiss, () => {});
      }
      residents.clear();
      await Promise.all(ending);
    },
  };
}

/** A start that nobody waits for goes on: the next request needs it. */
async function unlessAborted(signal: AbortSignal, start: Promise<ResidentProcess>): Promise<ResidentProcess> {
  start.catch(() => {});
  const left = Promise.withResolvers<never>();
  const unsubscribe = onAbort(signal, () => left.reject(new ResidentBroken('cancelled', 'cancelled before the resident was asked')));
  return Promise.race([left.promise, start]).finally(unsubscribe);
}
