/** A mirror of the API server's objects of one kind: a paged list, then a watch from there on, until it is closed. */
import { setTimeout as pause } from 'node:timers/promises';
import { unlessAborted } from '../streams/abort.ts';
import type { Kube, Selection } from './connection/connect.ts';
import { isExpired, KubeError } from './connection/error.ts';
import { quietly } from './quietly.ts';
import { type KubeObject, objectKey, type Resource } from './resource.ts';

export interface ReflectorOptions<T> extends Selection {
  readonly kube: Kube;
  readonly resource: Resource;
  /** Keeps only the needed parts of an object: memory is this times the number of objects. `managedFields` are already removed. */
  readonly trim?: (object: T) => T;
  /** Called for each list or watch that failed, and for each listener that threw. */
  readonly onTrouble?: (error: unknown) => void;
  readonly pageSize?: number;
  /** A watch without event or bookmark for this long is restarted, ms. */
  readonly silenceMs?: number;
  /** Everything is listed again about this often, in case an event was missed, ms. */
  readonly relistMs?: number;
  readonly minBackoffMs?: number;
  readonly maxBackoffMs?: number;
}

export type ChangeListener<T> = (key: string, now: T | undefined, before: T | undefined) => void;

export interface Reflector<T extends KubeObject> {
  /** Whether the first list is complete. */
  readonly synced: boolean;
  /** @throws the signal's reason; Error if it is closed first */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /** A live view, by `keyOf`. */
  objects(): ReadonlyMap<string, T>;
  /** Calls back after each change of `objects()`. @returns unsubscribe */
  onChange(listener: ChangeListener<T>): () => void;
  stats(): {
    readonly objects: number;
    /** Since the last page, event or bookmark, ms. */
    readonly sinceLastEventMs: number;
    /** Watches started after the first. */
    readonly restarts: number;
    /** Lists started after the first. */
    readonly relists: number;
  };
  close(): Promise<void>;
}

/** The server ends a watch after this long, s: jittered, so that they do not all restart at the same time. */
const WATCH_SECONDS = 300;
/** A watch that ends sooner than this without an event counts as failed, whatever its status, ms. */
const TOO_SHORT_MS = 500;
/** After this many refusals in a row the version itself is suspect: a restored store may be older. */
const REFUSALS = 3;

/** Starts immediately, and retries until it is closed. */
export function startReflector<T extends KubeObject>(options: ReflectorOptions<T>): Reflector<T> {
  const { kube, resource, namespace, labelSelector, fieldSelector, pageSize = 500, silenceMs = 90_000 } = options;
  const { relistMs = 600_000, minBackoffMs = 200, maxBackoffMs = 10_000, trim = (object) => object } = options;
  const onTrouble = quietly(options.onTrouble);
  const selection = { namespace, labelSelector, fieldSelector };
  const objects = new Map<string, T>();
  const listeners = new Set<ChangeListener<T>>();
  const closing = new AbortController();
  const { signal } = closing;
  const synced = Promise.withResolvers<void>();
  synced.promise.catch(() => {});
  let isSynced = false;
  let [lists, watches, events, lastEvent] = [0, 0, 0, performance.now()];
  let version: string | undefined;
  let relistAt = 0;

  function put(key: string, now: T | undefined): void {
    const before = objects.get(key);
    if (now === undefined ? before === undefined : now.metadata.resourceVersion === before?.metadata.resourceVersion) return;
    if (now === undefined) objects.delete(key);
    else objects.set(key, now);
    for (const listener of listeners) {
      try {
        listener(key, now, before);
      } catch (error) {
        onTrouble(error);
      }
    }
  }

  const kept = (object: T): T => {
    delete (object.metadata as { managedFields?: unknown }).managedFields;
    return trim(object);
  };

  async function list(): Promise<void> {
    lists += 1;
    const there = new Set<string>();
    let from = '';
    for await (const { items, resourceVersion } of kube.pages<T>(resource, { ...selection, limit: pageSize }, { signal })) {
      lastEvent = performance.now();
      from = resourceVersion;
      for (const item of items) {
        const key = objectKey(item);
        there.add(key);
        put(key, kept(item));
      }
    }
    for (const key of objects.keys()) if (!there.has(key)) put(key, undefined);
    version = from;
    relistAt = performance.now() + jittered(relistMs);
    if (!isSynced) {
      isSynced = true;
      synced.resolve();
    }
  }

  /** Runs until the server ends the watch. */
  async function watch(resourceVersion: string): Promise<void> {
    watches += 1;
    const seconds = Math.min(jittered(WATCH_SECONDS), (relistAt - performance.now()) / 1_000);
    const wanted = { ...selection, resourceVersion, timeoutSeconds: Math.max(1, Math.ceil(seconds)) };
    for await (const { type, object } of kube.watch<T>(resource, wanted, { signal, silenceMs })) {
      lastEvent = performance.now();
      events += 1;
      version = object.metadata.resourceVersion ?? version;
      if (type === 'DELETED') put(objectKey(object), undefined);
      else if (type !== 'BOOKMARK') put(objectKey(object), kept(object));
    }
  }

  async function run(): Promise<void> {
    let [failures, refusals] = [0, 0];
    while (!signal.aborted) {
      const [begun, before] = [performance.now(), events];
      try {
        if (version === undefined || begun >= relistAt) {
          await list();
          continue;
        }
        await watch(version);
        if (events === before && performance.now() - begun < TOO_SHORT_MS)
          throw new KubeError(0, 'Unreachable', `a watch of ${resource.plural} ended as soon as it began`);
        [failures, refusals] = [0, 0];
      } catch (error) {
        if (signal.aborted) return;
        if (events !== before) [failures, refusals] = [0, 0];
        if (error instanceof KubeError && error.status >= 400 && error.status !== 429) refusals += 1;
        if (isExpired(error) || refusals >= REFUSALS) version = undefined;
        onTrouble(error);
        const wait = Math.max(Math.min(maxBackoffMs, minBackoffMs * 2 ** failures), retryAfterMs(error));
        failures += 1;
        await pause(jittered(wait), undefined, { signal }).catch(() => {});
      }
    }
  }
  const running = run();

  return {
    get synced() {
      return isSynced;
    },
    whenSynced: (until) => unlessAborted(synced.promise, until),
    objects: () => objects,
    onChange(listener) {
      const own: ChangeListener<T> = (...change) => listener(...change);
      listeners.add(own);
      return () => void listeners.delete(own);
    },
    stats: () => ({
      objects: objects.size,
      sinceLastEventMs: performance.now() - lastEvent,
      restarts: Math.max(0, watches - 1),
      relists: Math.max(0, lists - 1),
    }),
    async close() {
      closing.abort(new Error(`the reflector of ${resource.plural} is closed`));
      synced.reject(signal.reason);
      await running;
    },
  };
}

/** A random part of it: between 75 % and 100 %. */
const jittered = (whole: number): number => whole * (0.75 + Math.random() / 4);

const retryAfterMs = (error: unknown): number => (error instanceof KubeError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0);
