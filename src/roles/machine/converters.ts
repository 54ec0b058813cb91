/** The converters of this machine: found, versioned, and behind the launcher. */
import { join } from 'node:path';
import { type Catalog, createCatalog } from '../../catalog/catalog.ts';
import { engines } from '../../catalog/engines.gen.ts';
import type { Config } from '../../config.ts';
import { type Launcher, launcherAt } from '../../exec/confine/confine.ts';
import { SpawnFailed } from '../../exec/confine/policy.ts';
import { everyoneReaches, stage } from '../../exec/confine/stage.ts';
import { openSlot, type Slot } from '../../exec/files/workspace.ts';
import { openToolbox, type Toolbox } from '../../exec/toolbox.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { CannotStart } from '../process/cannot-start.ts';
import { openFolder } from './data-dir.ts';

export interface Converters {
  readonly workDir: string;
  readonly launcher: Launcher;
  readonly toolbox: Toolbox;
  readonly catalog: Catalog;
  /** A slot that no conversion uses. */
  readonly spareSlot: Slot;
}

/** @param checkout absolute path of the project @throws CannotStart when converters cannot be confined here */
export async function openConverters(
  { dataDir, worker, fetch }: Config,
  checkout: string,
  { spawnFailed }: Pick<Metrics, 'spawnFailed'>,
): Promise<Converters> {
  await openFolder(dataDir);
  const workDir = worker.dir ?? (await reachableFolder(dataDir));
  await openFolder(workDir, 'work folder', 'WORK_DIR');
  const launcher = launcherAt(join(checkout, '.cache/bin/launcher'), {
    withoutLandlock: worker.withoutLandlock,
    onSpawnFailed: spawnFailed,
  });
  const support = await launcher.check();
  if (support.landlockAbi === 0 && !worker.withoutLandlock) {
    throw new CannotStart(
      'this kernel has no Landlock: converters could read every file; set worker.withoutLandlock: true to run them all the same',
    );
  }
  const runtime = await stage(checkout, process.execPath, workDir);
  // With Internet access switched off, its engines are neither present nor missing.
  const offline = fetch.rest ? [] : engines.filter(({ binaries }) => Object.values(binaries).some(({ egress }) => egress));
  const spareSlot = await openSlot(workDir, 0);
  const toolbox = await openToolbox({
    engines: engines.filter((engine) => !offline.includes(engine)),
    launcher,
    runtime,
    cacheFile: join(dataDir, 'versions.json'),
    knownFile: join(checkout, 'versions.json'),
    slot: spareSlot,
  }).catch((cause: unknown) => {
    throw cause instanceof SpawnFailed ? new CannotStart(`${cause.message}: the versions of converters cannot be read`, { cause }) : cause;
  });
  const why = new Map(offline.map(({ id }) => [id, 'fetching by URL is switched off (fetch.rest)']));
  return { workDir, launcher, toolbox, catalog: createCatalog(toolbox.installed, why), spareSlot };
}

/** As root, converters run as users without access to a private home folder. */
async function reachableFolder(dataDir: string): Promise<string> {
  if (process.getuid?.() !== 0 || (await everyoneReaches(dataDir))) return join(dataDir, 'work');
  return join('/var/tmp/filemill', dataDir.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-|-$/g, ''));
}
