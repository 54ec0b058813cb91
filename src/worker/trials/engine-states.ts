/** Which engines of this process work, as far as is known: one that fails its trial is withdrawn until a later trial succeeds. */
import type { Engine } from '../../catalog/engine.ts';
import type { Defect } from '../../contracts/messages/fault.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { defectOf } from './defect.ts';

export interface EngineStates {
  /** Why, by engine id: engines that do not work at present. Another object after each change. */
  readonly withdrawn: ReadonlyMap<string, Defect>;
  /** Whether it has converted something since this process started. */
  hasWorked(engine: Engine): boolean;
  /** It has converted something. One that is withdrawn stays so: a warm program may still serve where a new one cannot start. */
  worked(engine: Engine): void;
  /** @param cause the error of its trial */
  withdraw(engine: Engine, cause: unknown): void;
  /** It has passed its trial. */
  restore(engine: Engine): void;
  /** Calls back when an engine is withdrawn or restored. */
  onChange(callback: (engine: Engine) => void): void;
}

export function engineStates(log: Log, metrics: Pick<Metrics, 'enginesWithdrawn'>): EngineStates {
  const hasWorked = new Set<string>();
  const callbacks: ((engine: Engine) => void)[] = [];
  let withdrawn: ReadonlyMap<string, Defect> = new Map();
  const change = (engine: Engine, next: ReadonlyMap<string, Defect>): void => {
    withdrawn = next;
    metrics.enginesWithdrawn(withdrawn);
    for (const callback of callbacks) callback(engine);
  };
  return {
    get withdrawn() {
      return withdrawn;
    },
    hasWorked: ({ id }) => hasWorked.has(id),
    worked: ({ id }) => void hasWorked.add(id),
    withdraw(engine, cause) {
      const { id } = engine;
      const defect = defectOf(cause);
      if (withdrawn.get(id) === defect) return;
      log.error({ engine: id, defect, err: cause }, 'an engine failed its trial: it is withdrawn until a later trial succeeds');
      change(engine, new Map([...withdrawn, [id, defect]]));
    },
    restore(engine) {
      const { id } = engine;
      hasWorked.add(id);
      if (!withdrawn.has(id)) return;
      log.info({ engine: id }, 'an engine has passed its trial: it is offered again');
      change(engine, new Map([...withdrawn].filter(([other]) => other !== id)));
    },
    onChange(callback) {
      callbacks.push(callback);
    },
  };
}
