/** Converts in this process: the same catalog, detection, engines and confinement as a service on this machine, without its store. */
import { chmodSync, mkdtempSync } from 'node:fs';
import { availableParallelism, homedir } from 'node:os';
import { join } from 'node:path';
import type { Catalog } from '../../catalog/catalog.ts';
import { removeTree } from '../../exec/files/remove.ts';
import { openConverters } from '../../roles/machine/converters.ts';
import { asCannotStart } from '../../roles/process/cannot-start.ts';
import type { Log } from '../../telemetry/log.ts';
import { type DirectSlot, type DirectSlots, directSlots } from '../../worker/direct-slots.ts';
import { TooLittleMemory } from '../../worker/memory.ts';
import { workerSettings } from '../../worker/settings.ts';
import type { Conversions } from './conversions.ts';
import type { LikelyWork } from './converter.ts';

/** Where conversions run: a disk, as /tmp may be memory. */
const WORK = process.env['TMPDIR'] ?? '/var/tmp';
/** Kept between starts: the versions of the converters, and a copy of our own programs where converters cannot read the checkout. */
const CACHE_DIR =
  process.getuid?.() === 0 ? '/var/cache/filemill' : join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'filemill');

export interface Here extends Conversions {
  readonly catalog: Catalog;
}

/** @param jobs at a time @param likely its converter is started while the file is looked at @throws CannotStart · ConfigError */
export async function openHere(checkout: string, jobs: number, likely?: LikelyWork): Promise<Here> {
  const log = await logOf(process.env['LOG_LEVEL']);
  const { worker } = await settings();
  const workDir = mkdtempSync(join(WORK, 'filemill-'));
  // Converters run as other users where this one is root.
  chmodSync(workDir, 0o711);
  const metrics = { spawnFailed() {}, enginesWithdrawn() {}, modelsFound() {} };
  const config = { dataDir: CACHE_DIR, worker: { ...worker, dir: workDir }, fetch: OFFLINE, runtimeDir: CACHE_DIR };
  const { converters, slots } = await openConverters(config, checkout, log, metrics)
    .then((converters) => ({ converters, slots: directSlots({ ...converters, settings: worker }, jobs) }))
    .catch(async (error: unknown) => {
      await removeTree(workDir);
      return asCannotStart(TooLittleMemory)(error);
    });
  const opened = likely && startLikely(likely, converters.catalog(), slots);
  // The conversion that takes the slot reports it.
  opened?.catch(() => {});
  // While that starts, the rest of the code is loaded.
  const { openConversions } = await import('./conversions.ts');
  const conversions = openConversions({ converters, slots, opened });
  return {
    ...conversions,
    get catalog() {
      return converters.catalog();
    },
    async close() {
      await conversions.close();
      await removeTree(workDir);
    },
  };
}

/** Opens a slot, and starts in it what will convert the first file. */
async function startLikely({ source, target }: LikelyWork, catalog: Catalog, slots: DirectSlots): Promise<DirectSlot> {
  const slot = await slots.open();
  const route = catalog.route(source, target);
  const [first] = route?.hops ?? [];
  if (route !== undefined && first !== undefined) slots.prepare(slot, first.engine, route.toolchain);
  return slot;
}

/** A converter has no way to the Internet here. */
const OFFLINE = { rest: false } as Parameters<typeof openConverters>[0]['fetch'];

/** Without a configuration file only these variables count: those of a service that are set in the same shell must not stop a command. */
const OF_CONVERSIONS = ['FILEMILL_MODELS', 'MEMORY_LIMIT', 'WORK_DIR_LIMIT'];

/** A configuration file counts here too, as for a service: it may say how long and how large a conversion may be. */
async function settings() {
  const environment = process.env['CONFIG_FILE']
    ? process.env
    : Object.fromEntries(OF_CONVERSIONS.map((variable) => [variable, process.env[variable]]));
  // To load the settings of a whole service takes time, which most starts can spare.
  if (!Object.values(environment).some(Boolean)) return { worker: workerSettings(availableParallelism()).parse({}) };
  const { loadConfig } = await import('../../config.ts');
  return loadConfig(environment);
}

/** What a service would log is of no interest at a command line, unless LOG_LEVEL is set. */
async function logOf(level: string | undefined): Promise<Log> {
  if (level === undefined) return SILENT as unknown as Log;
  const [{ createLog }, { plainOn }] = await Promise.all([import('../../telemetry/log.ts'), import('../../telemetry/plain.ts')]);
  return createLog(level, plainOn(process.stderr));
}
const silent = () => undefined;
const SILENT = { trace: silent, debug: silent, info: silent, warn: silent, error: silent, fatal: silent };
