/** Workers without converters: for each pod that runs on a fake node one that speaks, takes orders, and ends like a real one. */
import { setTimeout as pause } from 'node:timers/promises';
import { PRESENCE_VERSION, type Presence } from '../../../src/contracts/messages/presence.ts';
import type { Kube } from '../../../src/kube/connection/connect.ts';
import { startReflector } from '../../../src/kube/reflector.ts';
import { type KubeObject, PODS } from '../../../src/kube/resource.ts';
import type { Nats } from '../../../src/nats/connection.ts';
import { subscribeRetire } from '../../../src/pools/nats/retire.ts';
import { publishPresence } from '../../../src/pools/nats/workers.ts';
import { openNatsQueue } from '../../../src/queue/nats/queue.ts';
import { endPod } from './pod-end.ts';

const POOL = 'filemill.io/pool';
const PRESENCE_MS = 2_000;

export interface Crew {
  /** Those at work now, by pod. */
  readonly there: ReadonlyMap<string, { readonly pool: string; readonly held: number; readonly since: number }>;
  /** Orders that were ended, by job. */
  readonly ended: ReadonlyMap<string, number>;
  /** Workers that ever began, and when (ms since the epoch), by pod. */
  readonly begun: ReadonlyMap<string, number>;
  /** The worker falls silent at once and its order with it; its pod fails. */
  die(pod: string): Promise<void>;
  close(): Promise<void>;
}

export interface CrewOptions {
  readonly kube: Kube;
  readonly nats: Nats;
  readonly namespace: string;
  /** How long one order takes, ms. */
  readonly serviceMs: (pool: string) => number;
  /** Whether workers of a pool come up at all; those that do not end at once with an error. */
  readonly comesUp?: (pool: string) => boolean;
  /** Whether they live on after their first word; those that do not end with an error. */
  readonly livesOn?: (pool: string) => boolean;
  /** Whether a pod that is deleted is ended at once, as by a kubelet (KEP-3329); else a test does it. kwok does not, and its Job waits for that. */
  readonly endsDeleted?: boolean;
}

interface Pod extends KubeObject {
  readonly spec?: { readonly containers: readonly { readonly env?: readonly { readonly name: string; readonly value?: string }[] }[] };
  readonly status?: { readonly phase?: string; readonly conditions?: readonly { readonly reason?: string }[] };
}

/** Its node is silent: no kubelet is there to write anything. */
const isGivenUp = ({ status }: Pod): boolean => (status?.conditions ?? []).some(({ reason }) => reason === 'DeletionByTaintManager');

interface Settings {
  readonly worker: { readonly toolchain: string; readonly conversionsPerWorker: number; readonly slots: Record<string, number> };
}

export async function startStandIns({
  kube,
  nats,
  namespace,
  serviceMs,
  comesUp = () => true,
  livesOn = () => true,
  endsDeleted = false,
}: CrewOptions): Promise<Crew> {
  const queue = openNatsQueue(nats);
  const there = new Map<
    string,
    { readonly pool: string; held: number; since: number; readonly stop: AbortController; readonly over: Promise<void> }
  >();
  const ended = new Map<string, number>();
  const begun = new Map<string, number>();
  /** The claim of each job in hand, as real workers write it to its record: that of the worker that got its order last. */
  const claims = new Map<string, symbol>();
  const closing = new AbortController();

  const finish = (pod: string, exitCode: number) => endPod(kube, { name: pod, namespace }, exitCode, closing.signal);

  async function work(pod: string, pool: string, { worker }: Settings, signal: AbortSignal): Promise<void> {
    const mine = there.get(pod);
    if (mine === undefined) return;
    const slots = worker.slots[worker.toolchain] ?? 1;
    let [taken, done, busyMs] = [0, 0, 0];
    const retired = new AbortController();
    const enough = () => retired.signal.aborted || taken >= worker.conversionsPerWorker;
    const say = (drained = false) => {
      if (signal.aborted) return;
      const state: Presence['state'] = drained
        ? 'drained'
        : retired.signal.aborted || enough()
          ? 'draining'
          : mine.held > 0
            ? 'busy'
            : 'idle';
      const about = { version: PRESENCE_VERSION, pool, toolchain: worker.toolchain, worker: pod, engines: { 'stand-in': '1' } };
      const busySeconds = mine.held > 0 ? Math.round((Date.now() - mine.since) / 1000) : 0;
      publishPresence(nats, { ...about, state, slots, busy: mine.held, taken, ended: done, busyMs, busySeconds });
    };
    const unsubscribe = subscribeRetire(nats, pool, pod, () => retired.abort());
    retired.signal.addEventListener('abort', () => say());
    const timer = setInterval(say, PRESENCE_MS);
    say();
    if (!livesOn(pool)) {
      clearInterval(timer);
      unsubscribe();
      there.delete(pod);
      return finish(pod, 1);
    }
    const stop = AbortSignal.any([signal, retired.signal]);
    const slot = async () => {
      while (!stop.aborted && taken < worker.conversionsPerWorker) {
        const delivery = await queue.pull(pool, ['interactive', 'bulk'], 1_000, stop).catch(() => pause(200, undefined));
        if (delivery === undefined) continue;
        const { jobId } = delivery.order;
        if (delivery.late === true && claims.has(jobId)) continue;
        const claim = Symbol(pod);
        claims.set(jobId, claim);
        taken++;
        if (mine.held++ === 0) mine.since = Date.now();
        say();
        const began = Date.now();
        const length = serviceMs(pool);
        while (Date.now() - began < length && !signal.aborted) {
          await pause(Math.min(5_000, length - (Date.now() - began)), undefined, { signal }).catch(() => {});
          await delivery.extend().catch(() => {});
        }
        // A worker that dies reports nothing, and releases nothing.
        if (signal.aborted) return;
        if (claims.get(jobId) === claim) {
          await delivery.done().catch(() => {});
          claims.delete(jobId);
          ended.set(jobId, (ended.get(jobId) ?? 0) + 1);
        }
        done++;
        busyMs += Date.now() - began;
        mine.held--;
        say();
      }
    };
    await Promise.all(Array.from({ length: slots }, slot));
    say(true);
    clearInterval(timer);
    unsubscribe();
    if (!signal.aborted) await finish(pod, 0);
    there.delete(pod);
  }

  const end = (pod: string) => {
    there.get(pod)?.stop.abort();
    there.delete(pod);
  };
  const pods = startReflector<Pod>({ kube, resource: PODS, namespace, labelSelector: POOL });
  pods.onChange((_, pod, before) => {
    if (pod === undefined) return end(before?.metadata.name ?? '');
    const { name, labels = {}, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined) {
      end(name);
      if (endsDeleted && pod.status?.phase === 'Running' && !isGivenUp(pod)) void finish(name, 143);
      return;
    }
    const pool = labels[POOL] ?? '';
    if (pod.status?.phase !== 'Running' || begun.has(name)) return;
    begun.set(name, Date.now());
    if (!comesUp(pool)) return void finish(name, 1);
    const stop = new AbortController();
    const settings = JSON.parse(pod.spec?.containers[0]?.env?.find((variable) => variable.name === 'SETTINGS')?.value ?? '{}') as Settings;
    const mine = { pool, held: 0, since: Date.now(), stop, over: Promise.resolve() };
    there.set(name, mine);
    mine.over = work(name, pool, settings, stop.signal);
  });
  await pods.whenSynced();
  return {
    there,
    ended,
    begun,
    async die(pod) {
      end(pod);
      await finish(pod, 137);
    },
    async close() {
      closing.abort();
      const last = [...there.values()].map(({ over }) => over);
      for (const pod of [...there.keys()]) end(pod);
      await pods.close();
      await Promise.allSettled(last);
      await queue.close();
    },
  };
}
