/** Facts of a file, as an engine's own program reads them before a conversion. */
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Catalog } from '../../catalog/catalog.ts';
import { type Engine, type Facts, isInspected } from '../../catalog/engine.ts';
import type { Toolchain } from '../../contracts/toolchains.ts';
import { Failure } from '../../errors.ts';
import type { Toolbox } from '../../exec/toolbox.ts';
import type { Judge } from '../../judge/judge.ts';
import { limitsFor } from '../../worker/conversion/run-hop.ts';
import { createStepper } from '../../worker/conversion/run-step.ts';
import type { DirectSlot, DirectSlots } from '../../worker/direct-slots.ts';

export interface InspectDeps {
  readonly catalog: Catalog;
  readonly slots: DirectSlots;
  readonly toolbox: Toolbox;
  readonly judge: Judge;
}

/** Engines that are asked, one after the other, until one tells something. */
const MOST_ASKED = 3;
/** The facts that a person wants to know, as engines name them. */
const TELLING = ['frames', 'pages', 'media'];

/** @param path of a file in the format `source` @returns no facts where no engine has any */
export async function inspectFile(
  deps: InspectDeps,
  opened: DirectSlot,
  path: string | Buffer,
  source: string,
  signal: AbortSignal,
): Promise<Facts> {
  const { catalog, slots, toolbox, judge } = deps;
  const { slot, residents } = opened;
  const stepper = createStepper({ toolbox, slot, residents, judge });
  const folder = await slot.makeFolder('info');
  try {
    const copy = join(folder, `input.${source}`);
    await copyFile(path, copy);
    slot.own(copy);
    let facts: Facts = await judge.lookThrough(source, copy).catch(none);
    const knowing = catalog.engines.filter(
      (engine) => engine.inspect !== undefined && isInspected(engine.inspect, source) && reads(engine, source),
    );
    for (const engine of knowing.slice(0, MOST_ASKED)) {
      const [toolchain] = engine.toolchains;
      const target = engine.conversions.find((conversion) => conversion.source === source)?.target ?? source;
      const task = { source, target, options: {}, passwordFile: undefined };
      if (engine.inspect === undefined || toolchain === undefined) continue;
      const limits = limitsFor(engine, slots.limitsIn(toolchain as Toolchain), [copy]);
      const where = { engine, folder, limits, signal, onProgress: () => undefined };
      const found = await stepper
        .run(engine.inspect.step(copy, task), where)
        .then(({ stdout }) => judge.factsOf({ engine: engine.id }, stdout, task))
        .catch(none);
      facts = { ...facts, ...found };
      if (TELLING.some((name) => facts[name] !== undefined)) break;
    }
    return facts;
  } finally {
    await slot.removeFolder(folder);
  }
}

const reads = ({ conversions }: Engine, source: string): boolean => conversions.some((conversion) => conversion.source === source);

/** A file that is damaged, locked or too large still has a type and a size. */
function none(error: unknown): Facts {
  if (error instanceof Failure) return {};
  throw error;
}
