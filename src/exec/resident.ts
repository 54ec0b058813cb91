/** Programs that stay warm between one slot's conversions: replaced as they age, and never used again once something went wrong. */
import type { StepLimits } from '../catalog/engine.ts';
import { onAbort } from '../streams/abort.ts';
import type { Answer } from './answer.ts';
import type { Launcher } from './confine.ts';
import type { Files } from './handover.ts';
import { type Asking, type Broken, Incarnation, type Program, ResidentBroken } from './incarnation.ts';
import type { Slot } from './workspace.ts';

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
  readonly onReplaced?: (key: string, why: Broken | 'used' | 'leak') => void;
}

/** The programs under one key: one that serves, and at times one that is to replace it. */
interface Place {
  current: Incarnation | undefined;
  /** Settles when it can serve. */
  next: Promise<Incarnation> | undefined;
  busy: boolean;
  /** What waits for the present request to end. */
  whenIdle: (() => void) | undefined;
}

export function openResidents({ launcher, slot, perLife, leakBytes, onReplaced = () => {} }: ResidentOptions): Residents {
  const places = new Map<string, Place>();
  const ending = new Set<Promise<void>>();
  let started = 0;
  let closed = false;

  const dismiss = (one: Incarnation | undefined): void => {
    if (one === undefined) return;
    const gone = one.end().finally(() => ending.delete(gone));
    ending.add(gone);
  };

  /** Begins a start, unless one is under way. One that fails leaves nothing behind. */
  const begin = (place: Place, program: Program, limits: StepLimits): Promise<Incarnation> => {
    if (closed) return Promise.reject(new ResidentBroken('cancelled', 'the residents are closed'));
    if (place.next !== undefined) return place.next;
    const next = Incarnation.start({ launcher, slot, name: `r${++started}` }, program, limits);
    place.next = next;
    next.catch(() => {
      if (place.next === next) place.next = undefined;
    });
    return next;
  };

  /** Puts the replacement in, once it can serve. */
  const swap = (place: Place, fresh: Incarnation): void => {
    if (closed || place.current === fresh) return;
    dismiss(place.current);
    place.current = fresh;
    place.next = undefined;
  };

  const take = async (place: Place, program: Program, limits: StepLimits): Promise<Incarnation> => {
    const { current } = place;
    if (current !== undefined && !current.over && (perLife > 1 || current.served === 0)) return current;
    swap(place, await begin(place, program, limits));
    if (closed || place.current === undefined) throw new ResidentBroken('cancelled', 'the residents are closed');
    return place.current;
  };

  /** Looks at a program after a request. An old one goes on serving until its replacement is ready. */
  const age = async (key: string, place: Place, one: Incarnation, program: Program, limits: StepLimits): Promise<void> => {
    const why = one.served >= perLife ? 'used' : one.residentBytes() > leakBytes ? 'leak' : undefined;
    if (why === undefined || place.next !== undefined || place.current !== one || one.over || closed) return;
    onReplaced(key, why);
    const fresh = await begin(place, program, limits);
    if (!place.busy) swap(place, fresh);
    else place.whenIdle = () => swap(place, fresh);
  };

  return {
    async ask(key, program, request, files, asking) {
      const place = places.get(key) ?? { current: undefined, next: undefined, busy: false, whenIdle: undefined };
      places.set(key, place);
      if (place.busy) throw new Error(`the resident ${key} is asked twice at once`);
      place.busy = true;
      let one: Incarnation | undefined;
      try {
        one = await unlessAborted(asking.signal, take(place, program, asking.limits));
        const answer = await one.serve(request, files, asking);
        // A replacement that does not start is tried again after the next request.
        void age(key, place, one, program, asking.limits).catch(() => {});
        return answer;
      } catch (error) {
        // Whoever leaves before anything was asked has broken nothing.
        if (error instanceof ResidentBroken && (one !== undefined || error.why !== 'cancelled')) onReplaced(key, error.why);
        throw error;
      } finally {
        place.busy = false;
        place.whenIdle?.();
        place.whenIdle = undefined;
      }
    },
    pid: (key) => places.get(key)?.current?.pid,
    async close() {
      closed = true;
      for (const { current, next } of places.values()) {
        dismiss(current);
        if (next !== undefined) await next.then(dismiss, () => {});
      }
      places.clear();
      await Promise.all(ending);
    },
  };
}

/** A start that nobody waits for goes on: the next request needs it. */
async function unlessAborted(signal: AbortSignal, start: Promise<Incarnation>): Promise<Incarnation> {
  start.catch(() => {});
  const left = Promise.withResolvers<never>();
  const unsubscribe = onAbort(signal, () => left.reject(new ResidentBroken('cancelled', 'cancelled before the resident was asked')));
  return Promise.race([left.promise, start]).finally(unsubscribe);
}
