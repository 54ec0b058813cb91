/** Events (events.k8s.io/v1) about an object, for `kubectl describe`: repeats are counted, rates limited, and callers never wait or fail. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Kube } from './connection/connect.ts';
import { isNotFound } from './connection/error.ts';
import { quietly } from './quietly.ts';
import { apiVersion, EVENTS, type KubeObject, microTime, type ObjectRef, type Resource } from './resource.ts';

export interface EventDraft {
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly uid: string;
  };
  readonly type: 'Normal' | 'Warning';
  /** CamelCase: why. */
  readonly reason: string;
  /** CamelCase: what was done or failed. */
  readonly action: string;
  /** A sentence. */
  readonly note: string;
}

/** What an event is about. */
export const regarding = (
  resource: Resource,
  { name, namespace, uid = '' }: ObjectRef & { readonly uid?: string | undefined },
): EventDraft['regarding'] => ({
  apiVersion: apiVersion(resource),
  kind: resource.kind,
  name,
  namespace,
  uid,
});

export interface Recorder {
  /** Neither throws nor waits: an event that cannot be sent is dropped. */
  record(draft: EventDraft): void;
  close(): Promise<void>;
}

export interface RecorderOptions {
  readonly kube: Kube;
  /** `filemill.io/controller`. */
  readonly controller: string;
  /** The process: its pod's name. */
  readonly instance: string;
  readonly now?: () => Date;
  readonly onTrouble?: (error: unknown) => void;
}

/** Per object: a burst of this many events, and one more each minute. */
const BURST = 10;
const REFILL_MS = 60_000;
/** A repeated event is counted, and the count is written no more often than this, ms. */
const RECOUNT_MS = 60_000;
/** After this long the API server may have removed the event, and a repeat is sent as a new one, ms. */
const NEWS_MS = 30 * 60_000;
/** How many events, and how many objects, are remembered: this bounds the memory. */
const REMEMBERED = 2_000;
const UNSENT = 100;
const LIMIT_MS = 5_000;
/** Longest `note`, bytes (validation of events.k8s.io/v1). */
const NOTE_BYTES = 1_024;

interface Recorded {
  readonly ref: ObjectRef;
  count: number;
  /** ms since the epoch. */
  writtenAt: number;
}

export function createRecorder({ kube, controller, instance, now = () => new Date(), ...options }: RecorderOptions): Recorder {
  const onTrouble = quietly(options.onTrouble);
  const recorded = new Map<string, Recorded>();
  const allowance = new Map<string, { tokens: number; at: number }>();
  const unsent: (() => Promise<unknown>)[] = [];
  const closing = new AbortController();
  const call = { limitMs: LIMIT_MS, signal: closing.signal };
  let sending: Promise<void> | undefined;
  let serial = 0;

  function mayRecord(uid: string, at: number): boolean {
    const known = allowance.get(uid) ?? { tokens: BURST, at };
    const tokens = Math.min(BURST, known.tokens + (at - known.at) / REFILL_MS);
    remember(allowance, uid, { tokens: tokens < 1 ? tokens : tokens - 1, at });
    return tokens >= 1;
  }

  function send(write: () => Promise<unknown>): void {
    if (unsent.length >= UNSENT || closing.signal.aborted) return;
    unsent.push(write);
    sending ??= (async () => {
      for (let next = unsent.shift(); next !== undefined; next = unsent.shift()) await next().catch(onTrouble);
      sending = undefined;
    })();
  }

  function sendNew(key: string, { regarding, ...draft }: EventDraft, date: Date): void {
    const namespace = regarding.namespace ?? 'default';
    serial += 1;
    const ref = { name: `${regarding.name.slice(0, 200)}.${date.getTime().toString(16)}${serial.toString(16)}`, namespace };
    const event = {
      ...draft,
      metadata: ref,
      note: shortened(draft.note),
      regarding,
      eventTime: microTime(date),
      reportingController: controller,
      reportingInstance: instance,
    };
    remember(recorded, key, { ref, count: 1, writtenAt: date.getTime() });
    send(() => kube.create<KubeObject>(EVENTS, event, call));
  }

  function sendCount(key: string, known: Recorded, date: Date): void {
    known.writtenAt = date.getTime();
    const series = { count: known.count, lastObservedTime: microTime(date) };
    send(async () => {
      try {
        await kube.patch(EVENTS, known.ref, { series }, {}, call);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        recorded.delete(key);
      }
    });
  }

  return {
    record(draft) {
      const { regarding, type, reason, action, note } = draft;
      const date = now();
      const key = [regarding.uid, type, reason, action, note].join('\n');
      const known = recorded.get(key);
      if (known === undefined || date.getTime() - known.writtenAt > NEWS_MS) {
        if (mayRecord(regarding.uid, date.getTime())) sendNew(key, draft, date);
        return;
      }
      known.count += 1;
      if (date.getTime() - known.writtenAt >= RECOUNT_MS) sendCount(key, known, date);
    },
    /** Still sends the events recorded just before, if that takes no longer than 1 s. */
    async close() {
      await Promise.race([sending, pause(1_000, undefined, { ref: false })]);
      closing.abort(new Error('the recorder of events is closed'));
      unsent.length = 0;
      await sending;
    },
  };
}

/** Adds an entry; above the limit the oldest one is dropped. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= REMEMBERED) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

function shortened(note: string): string {
  if (Buffer.byteLength(note) <= NOTE_BYTES) return note;
  // A cut inside a character leaves a replacement character, which takes three bytes.
  return Buffer.from(note)
    .subarray(0, NOTE_BYTES - 3)
    .toString();
}
