/**
 * The resident programs of one slot: kept running between conversions, replaced as they age unless they fork, and never reused after a failure.
 * Only the last one that holds models is kept, and only for some time.
 */
import type { ConversationStep, StepLimits } from '../../catalog/engine.ts';
import { unlessAborted } from '../../streams/abort.ts';
import type { Launcher } from '../confine/confine.ts';
import type { Slot } from '../files/workspace.ts';
import type { JobPaths } from './handover.ts';
import type { ProgramAnswer } from './messages.ts';
import { type BreakReason, type Freshness, type Program, ResidentBroken, ResidentProcess, type ResidentRequestOptions } from './process.ts';

export interface Residents {
  /** One request at a time for each key. @throws ResidentBroken */
  ask(key: string, program: Program, request: ResidentRequest, files: JobPaths, options: ResidentRequestOptions): Promise<ProgramAnswer>;
  /** Starts it ahead of a request that is likely to come. A start that fails is left to that request. */
  prepare(key: string, program: Program, limits: StepLimits): void;
  /** Process id of the current process's supervisor. */
  pid(key: string): number | undefined;
  /** Resolves when all processes and folders are gone. */
  close(): Promise<void>;
}

/** A line of JSON, or a conversation with a separate process. */
export type ResidentRequest = Readonly<Record<string, unknown>> | ConversationStep['conversation'];

export interface ResidentOptions {
  readonly launcher: Launcher;
  readonly slot: Slot;
  /** Conversions of one process before it is replaced; 1: none is used twice. */
  readonly perLife: number;
  /** Resident bytes of a process and its children, between requests, above which it is replaced. */
  readonly leakBytes: number;
  /** How long a program that holds models is kept without a request, ms. */
  readonly idleMs: number;
  readonly onStarted?: (key: string, freshness: Freshness) => void;
  /** Programs that hold models are ended, and replaced by the next request. */
  readonly onReplaced?: (key: string, why: BreakReason | RegularEnd) => void;
}

/** Its conversions are done, it holds too much memory, it was not asked for some time, or another one needs its place. */
export type RegularEnd = 'used' | 'leak' | 'idle' | 'displaced';

/** The processes of one program: the current one, and at times its replacement. */
interface Resident {
  current: ResidentProcess | undefined;
  /** The replacement; settles when it is ready. */
  next: Promise<ResidentProcess> | undefined;
  busy: boolean;
  /** Runs when the current request has ended. */
  whenIdle: (() => void) | undefined;
  holdsModels: boolean;
  /** Ends a program that holds models. */
  idleTimer: NodeJS.Timeout | undefined;
}

const notSent = (): ResidentBroken => new ResidentBroken('cancelled', 'cancelled before the request was sent');

export function openResidents({
  launcher,
  slot,
  perLife,
  leakBytes,
  idleMs,
  onStarted = () => {},
  onReplaced = () => {},
}: ResidentOptions): Residents {
  const residents = new Map<string, Resident>();
  const reaping = new Set<Promise<void>>();
  let started = 0;
  let closed = false;

  const residentAt = (key: string): Resident =>
    residents.getOrInsertComputed(key, () => ({
      current: undefined,
      next: undefined,
      busy: false,
      whenIdle: undefined,
      holdsModels: false,
      idleTimer: undefined,
    }));

  const reap = (process: ResidentProcess | undefined): Promise<void> => {
    if (process === undefined) return Promise.resolve();
    const reaped = process.end().finally(() => reaping.delete(reaped));
    reaping.add(reaped);
    return reaped;
  };

  /** Spawns the next process, unless that is under way. A failed start leaves nothing behind. */
  const spawn = (key: string, resident: Resident, program: Program, limits: StepLimits): Promise<ResidentProcess> => {
    if (closed) return Promise.reject(new ResidentBroken('cancelled', 'the residents are closed'));
    if (resident.next !== undefined) return resident.next;
    const next = ResidentProcess.start({ launcher, slot, name: `r${++started}` }, program, limits);
    resident.next = next;
    next.then(
      ({ freshness }) => onStarted(key, freshness),
      () => {
        if (resident.next === next) resident.next = undefined;
      },
    );
    return next;
  };

  /** Makes the replacement the current process. */
  const swap = (resident: Resident, replacement: ResidentProcess): void => {
    if (closed || resident.current === replacement) return;
    void reap(resident.current);
    resident.current = replacement;
    resident.next = undefined;
  };

  /** Conversions of one process. A fork server reads no file, and does not age. */
  const lifeOf = ({ isForkServer, freshness }: ResidentProcess): number =>
    isForkServer ? Number.POSITIVE_INFINITY : freshness.by === 'process' ? 1 : perLife;

  const currentOf = async (key: string, resident: Resident, program: Program, limits: StepLimits): Promise<ResidentProcess> => {
    const { current } = resident;
    await current?.renewed;
    if (current !== undefined && !current.over && (lifeOf(current) > 1 || current.served === 0)) return current;
    swap(resident, await spawn(key, resident, program, limits));
    if (closed || resident.current === undefined) throw new ResidentBroken('cancelled', 'the residents are closed');
    return resident.current;
  };

  /** Replaces a process that is due after a request. The old one goes on serving until its replacement is ready. */
  const replaceIfDue = async (
    key: string,
    resident: Resident,
    used: ResidentProcess,
    program: Program,
    limits: StepLimits,
  ): Promise<void> => {
    if (used.isForkServer) return;
    const why = used.served >= lifeOf(used) ? 'used' : used.residentBytes() > leakBytes ? 'leak' : undefined;
    if (why === undefined || resident.next !== undefined || resident.current !== used || used.over || closed) return;
    onReplaced(key, why);
    const replacement = await spawn(key, resident, program, limits);
    if (!resident.busy) swap(resident, replacement);
    else resident.whenIdle = () => swap(resident, replacement);
  };

  /** Ends a program that holds models. */
  const unload = async (key: string, resident: Resident, why: RegularEnd): Promise<void> => {
    const { current } = resident;
    clearTimeout(resident.idleTimer);
    resident.current = undefined;
    if (current === undefined || current.over) return;
    onReplaced(key, why);
    await reap(current);
  };

  /** One program with models at a time: each may hold as much as is left for warm programs, and a GPU has room for few. */
  const makeRoom = async (key: string): Promise<void> => {
    for (const [other, resident] of residents) {
      if (other === key || !resident.holdsModels || resident.busy) continue;
      // The start of a request that was aborted goes on: its process is the current one then.
      await resident.next?.catch(() => undefined);
      if (!resident.busy) await unload(other, resident, 'displaced');
    }
  };

  const unloadWhenIdle = async (key: string, resident: Resident, used: ResidentProcess): Promise<void> => {
    if (resident.current !== used || used.over || closed) return;
    const why = used.served >= perLife ? 'used' : used.residentBytes() > leakBytes ? 'leak' : undefined;
    if (why !== undefined) await unload(key, resident, why);
    else {
      clearTimeout(resident.idleTimer);
      resident.idleTimer = setTimeout(() => void unload(key, resident, 'idle'), idleMs).unref();
    }
  };

  return {
    async ask(key, program, request, files, options) {
      const resident = residentAt(key);
      if (resident.busy) throw new Error(`the resident ${key} got two requests at once`);
      resident.busy = true;
      resident.holdsModels = program.holdsModels ?? false;
      clearTimeout(resident.idleTimer);
      let start: Promise<ResidentProcess> | undefined;
      let process: ResidentProcess | undefined;
      /** Where the request never came to its process: the one that starts, or the one that was there. */
      const waitForIdle = async (starting: Promise<ResidentProcess | undefined> = Promise.resolve(resident.current)) => {
        const there = await starting.catch(() => undefined);
        if (there !== undefined && !resident.busy) await unloadWhenIdle(key, resident, there);
      };
      try {
        // An aborted request stops neither of these: the next request needs the room, and the process.
        if (resident.holdsModels) await unlessAborted(makeRoom(key), options.signal, notSent);
        start = currentOf(key, resident, program, options.limits);
        process = await unlessAborted(start, options.signal, notSent);
        const answer = await (typeof request === 'function'
          ? process.talk(request, files, options)
          : process.serve(request, files, options));
        if (resident.holdsModels) void unloadWhenIdle(key, resident, process);
        // If the replacement does not start, the next request tries again.
        else void replaceIfDue(key, resident, process, program, options.limits).catch(() => {});
        return answer;
      } catch (error) {
        // A request that was cancelled before it was sent has broken nothing.
        if (error instanceof ResidentBroken && (process !== undefined || error.why !== 'cancelled')) onReplaced(key, error.why);
        if (resident.holdsModels && process === undefined) void waitForIdle(start);
        throw error;
      } finally {
        resident.busy = false;
        resident.whenIdle?.();
        resident.whenIdle = undefined;
      }
    },
    prepare(key, program, limits) {
      const resident = residentAt(key);
      if (resident.current === undefined) void spawn(key, resident, program, limits).catch(() => {});
    },
    pid: (key) => residents.get(key)?.current?.pid,
    async close() {
      closed = true;
      for (const { current, next, idleTimer } of residents.values()) {
        clearTimeout(idleTimer);
        void reap(current);
        if (next !== undefined) await next.then(reap, () => {});
      }
      residents.clear();
      await Promise.all(reaping);
    },
  };
}
