/** The converters of this machine: found, versioned, and behind the launcher. */
import { join } from 'node:path';
import type { Catalog } from '../../catalog/catalog.ts';
import { type Engine, modelsOf, modelsUsedBy } from '../../catalog/engine.ts';
import { engines } from '../../catalog/engines.gen.ts';
import { noSuchModel } from '../../catalog/listed-tool.ts';
import { servedIn, workingCatalog } from '../../catalog/live.ts';
import type { Config } from '../../config.ts';
import { type Toolchain, toolchains } from '../../contracts/toolchains.ts';
import { openCgroups } from '../../exec/confine/cgroups.ts';
import { type Launcher, launcherAt } from '../../exec/confine/confine.ts';
import { SpawnFailed } from '../../exec/confine/policy.ts';
import { type Runtime, stage } from '../../exec/confine/stage.ts';
import { openSlot, type Slot } from '../../exec/files/workspace.ts';
import { openToolbox, type Toolbox } from '../../exec/toolbox.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { type EngineStates, engineStates } from '../../worker/trials/engine-states.ts';
import { CannotStart } from '../process/cannot-start.ts';
import { openFolder, reachableFolder } from './data-dir.ts';
import { modelsHere } from './models.ts';

export interface Converters {
  readonly workDir: string;
  readonly launcher: Launcher;
  readonly runtime: Runtime;
  readonly toolbox: Toolbox;
  readonly engineStates: EngineStates;
  /** As it is now: without the engines that do not work. */
  readonly catalog: () => Catalog;
  /** A slot that no conversion uses. */
  readonly spareSlot: Slot;
  readonly confinement: Confinement;
}

export interface Confinement {
  readonly landlockAbi: number;
  /** What measures the memory and processor time of a conversion. */
  readonly counts: 'cgroup' | 'launcher';
}

/** What of the configuration concerns them. */
export interface ConvertersConfig extends Pick<Config, 'dataDir' | 'worker' | 'fetch'> {
  /** For a copy of our own programs, where converters cannot read the checkout. Unset: the work folder. */
  readonly runtimeDir?: string;
}

/** @param checkout absolute path of the project @param served toolchains whose engines are looked for @throws CannotStart when converters cannot be confined here */
export async function openConverters(
  { dataDir, worker, fetch, runtimeDir }: ConvertersConfig,
  checkout: string,
  log: Log,
  metrics: Pick<Metrics, 'spawnFailed' | 'enginesWithdrawn' | 'modelsFound'>,
  served: readonly Toolchain[] = toolchains,
): Promise<Converters> {
  const program = join(checkout, '.cache/bin/launcher');
  // Before anything else: it takes longest, and this process may have to be alone in its cgroup.
  const without = (why: string) => log.warn({ why }, 'no cgroup could be created for a program: the launcher measures the program');
  const opening = openCgroups(program, without);
  openFolder(dataDir);
  const workDir = worker.dir ?? reachableFolder(dataDir);
  openFolder(workDir, 'work folder', 'WORK_DIR');
  const needed = new Set(engines.filter((engine) => isServed(engine, served)).flatMap(modelsUsedBy));
  const [cgroups, runtime, models] = await Promise.all([
    opening,
    stage(checkout, process.execPath, runtimeDir ?? workDir),
    modelsHere(needed, checkout, { folder: worker.models, copies: runtimeDir ?? workDir }, log, metrics),
  ]);
  const support = typeof cgroups === 'string' ? await launcherAt(program, worker).check() : cgroups.kernel;
  const launcher = launcherAt(program, {
    cgroups: typeof cgroups === 'string' ? undefined : cgroups,
    withoutLandlock: worker.withoutLandlock,
    onSpawnFailed: metrics.spawnFailed,
  });
  if (support.landlockAbi === 0 && !worker.withoutLandlock) {
    throw new CannotStart(
      'this kernel has no Landlock: converters could read every file; set worker.withoutLandlock: true to run them anyway',
    );
  }
  const confinement = { landlockAbi: support.landlockAbi, counts: typeof cgroups === 'string' ? 'launcher' : 'cgroup' } as const;
  log.info(
    { ...confinement, lacks: support.lacks, ...(typeof cgroups === 'string' && { noCgroups: cgroups }) },
    confinement.counts === 'cgroup'
      ? 'converters are confined; the kernel limits what each uses by a cgroup'
      : 'converters are confined; the launcher measures what each uses, because no cgroup can be created',
  );
  // With Internet access switched off, engines that need it are neither present nor missing.
  const offline = fetch.rest ? [] : engines.filter(({ binaries }) => Object.values(binaries).some(({ egress }) => egress));
  const unserved = engines.filter((engine) => !isServed(engine, served));
  // Nor those whose model is not installed.
  const modelless = engines.flatMap((engine) => {
    const lacking = modelsOf(engine).find((id) => !models.has(id));
    return lacking === undefined ? [] : [{ engine, lacking }];
  });
  const left = new Set([...offline, ...unserved, ...modelless.map(({ engine }) => engine)]);
  const spareSlot = await openSlot(workDir, 0);
  const toolbox = await openToolbox({
    engines: engines.filter((engine) => !left.has(engine)),
    launcher,
    runtime,
    models,
    cacheFile: join(dataDir, 'versions.json'),
    knownFile: join(checkout, 'versions.json'),
    slot: spareSlot,
  }).catch((cause: unknown) => {
    throw cause instanceof SpawnFailed ? new CannotStart(`${cause.message}: the versions of converters cannot be read`, { cause }) : cause;
  });
  const why = new Map([
    ...modelless.map(({ engine, lacking }) => [engine.id, noSuchModel(lacking)] as const),
    ...unserved.map(({ id }) => [id, `this server has only the toolchains ${served.join(', ')} (worker.toolchains)`] as const),
    ...offline.map(({ id }) => [id, 'fetching by URL is disabled (fetch.rest)'] as const),
  ]);
  const states = engineStates(log, metrics);
  const catalog = workingCatalog(servedIn(served, toolbox.installed), why, () => states.withdrawn);
  return { workDir, launcher, runtime, toolbox, engineStates: states, catalog, spareSlot, confinement };
}

const isServed = ({ toolchains: of }: Engine, served: readonly Toolchain[]): boolean => of.some((toolchain) => served.includes(toolchain));
