/** One look at one pool, and what follows from it: gather, decide, apply, say. */
import type { Kube } from '../../kube/connect.ts';
import type { Recorder } from '../../kube/events.ts';
import type { Heard } from '../../pools/workers.ts';
import type { ControllerMetrics } from '../../telemetry/controller.ts';
import type { Log } from '../../telemetry/log.ts';
import { apply, type Hands } from './apply.ts';
import { decide } from './decide.ts';
import { type Declare, declared } from './declared.ts';
import { gather } from './gather.ts';
import { learn } from './learn.ts';
import type { Memory } from './memory.ts';
import type { PoolObject } from './objects.ts';
import { again, QUIET_MS } from './pace.ts';
import { learnRefusal } from './refusals.ts';
import { report } from './report.ts';
import type { Demand } from './seen.ts';
import { type TellState, tellTrouble } from './state.ts';
import { statusOf, writeStatus } from './status.ts';
import { templateOf } from './template.ts';
import { NOTHING_DECIDED, NOTHING_SEEN, type Standing, understood } from './understood.ts';

export interface Surroundings extends Hands {
  readonly kube: Kube;
  /** Undefined while NATS does not answer. */
  readonly demandOf: (pool: string) => Promise<Demand | undefined>;
  readonly wordsOf: (pool: string) => readonly Heard[];
  readonly enginesKnown: (pool: string) => boolean;
  readonly listening: () => boolean;
  readonly declare: Declare;
  readonly tellState: TellState;
  readonly natsServers: readonly string[];
  /** How long a worker's pod may run without a word, ms. */
  readonly silentMs: number;
  readonly recorder: Recorder;
  readonly metrics: ControllerMetrics;
  readonly log: Log;
  /** Ms since the epoch. */
  readonly clock: () => number;
}

/** @returns after how many ms to look again, whatever is heard meanwhile */
export async function reconcile(around: Surroundings, resource: PoolObject, memory: Memory, standing: Standing): Promise<number> {
  const now = around.clock();
  const { pool, trouble } = understood(resource, standing);
  if (trouble !== undefined) await writeStatus(around, pool, memory, statusOf(pool, NOTHING_SEEN, NOTHING_DECIDED, now, trouble));
  if (trouble !== undefined || pool.metadata.deletionTimestamp !== undefined) return QUIET_MS;
  const { name, namespace } = pool.metadata;
  const undeclared = await declared(around.declare, pool, memory);

  const template = templateOf(pool, around.natsServers);
  const jobs = around.live.of(`${namespace}/${name}`);
  await learnRefusal(around, jobs, namespace, memory, now);
  const words = around.wordsOf(name);
  const demand = await around.demandOf(name);
  // Its stream may be gone, as after a restore.
  if (demand === undefined) memory.declared = '';
  const seen = gather(
    {
      pool,
      jobs,
      podOf: around.live.podOf,
      pods: around.live.podsOf(`${namespace}/${name}`),
      words: new Map(words.map((word) => [word.worker, word])),
      listening: around.listening(),
      demand,
      template: template.hash,
      enginesKnown: words.length > 0 || around.enginesKnown(name),
      silentMs: around.silentMs,
      now,
    },
    memory,
  );
  const decision = decide(seen);
  const outcome = await apply(around, pool, seen, undeclared === undefined ? decision.actions : [], template);
  learn(memory, seen, decision, outcome, template.hash, now);
  // First: who watches the figures must not see old ones because the status is refused.
  report(around, name, seen, decision, outcome, memory, now);
  const status = statusOf(pool, seen, decision, now, undeclared);
  await writeStatus(around, pool, memory, status);
  // Of a name that is another's nobody else speaks.
  if (undeclared === undefined) await tellTrouble(around, name, { status, seen, template: template.hash, now }, memory);
  return again(seen, decision, outcome);
}
