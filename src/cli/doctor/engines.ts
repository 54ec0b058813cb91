/** The converters of this machine: which are there, in which version, whether they run confined, and which security updates they lack. */
import { chmodSync, copyFileSync, existsSync, globSync, mkdtempSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from '../../catalog/engine.ts';
import type { Config } from '../../config.ts';
import { type Toolchain, toolchains } from '../../contracts/toolchains.ts';
import { removeTree } from '../../exec/files/remove.ts';
import { askSystem } from '../../exec/system.ts';
import { openConverters } from '../../roles/machine/converters.ts';
import { CannotStart } from '../../roles/process/cannot-start.ts';
import type { Log } from '../../telemetry/log.ts';
import { checksOf } from '../../worker/checks.ts';
import { broken, type Finding, fine, unseen, weak } from './finding.ts';

/** Where a folder can be made: conversions run on a disk, as /tmp may be memory, but a container may have no other place. */
const PLACES = [process.env['TMPDIR'], '/var/tmp', '/tmp'];

function newFolder(dataDir: string): string {
  const places = [...PLACES, dataDir].filter((place) => place !== undefined);
  for (const place of places.slice(0, -1)) {
    try {
      return mkdtempSync(join(place, 'filemill-doctor-'));
    } catch {
      // It is not there, or cannot be written.
    }
  }
  return mkdtempSync(join(dataDir, 'filemill-doctor-'));
}
const silent = () => undefined;
const SILENT = { trace: silent, debug: silent, info: silent, warn: silent, error: silent, fatal: silent } as unknown as Log;
const UNCOUNTED = { spawnFailed() {}, enginesWithdrawn() {}, modelsFound() {} };

export interface EngineFacts {
  readonly installed: readonly { readonly name: string; readonly version: string; readonly toolchains: readonly string[] }[];
  readonly missing: readonly { readonly name: string; readonly programs: readonly string[]; readonly toolchains: readonly string[] }[];
  /** Why no converter can be started confined, as a sentence. */
  readonly fault: string | undefined;
}

/** In a folder that is gone afterwards: a running service notices nothing. @param checkout absolute path of the project */
export async function readEngines({ dataDir, worker, fetch }: Config, checkout: string): Promise<EngineFacts> {
  const folder = newFolder(dataDir);
  // Converters run as other users where this one is root.
  chmodSync(folder, 0o711);
  const served = worker.toolchains ?? toolchains;
  try {
    // What the service has read of their versions.
    if (existsSync(join(dataDir, 'versions.json'))) copyFileSync(join(dataDir, 'versions.json'), join(folder, 'versions.json'));
    const config = { dataDir: folder, worker: { ...worker, dir: folder }, fetch };
    const converters = await openConverters(config, checkout, SILENT, UNCOUNTED, served);
    const { toolbox, launcher, spareSlot: slot } = converters;
    const room = { minFreeBytes: worker.minFreeBytes, minFreeInodes: worker.minFreeInodes };
    const checks = checksOf({ workDir: folder, slot, slots: 1, launcher, toolbox, engines: [], lacking: [], ...room });
    return {
      installed: toolbox.installed.map(({ engine, version }) => ({ ...aboutOf(engine), version })),
      missing: toolbox.missing.map(({ engine, binaries }) => ({ ...aboutOf(engine), programs: binaries })),
      fault: (await checks.everything())?.message,
    };
  } catch (error) {
    if (error instanceof CannotStart) return { installed: [], missing: [], fault: error.message };
    throw error;
  } finally {
    await removeTree(folder);
  }
}

const aboutOf = ({ name, toolchains: of }: Engine): { readonly name: string; readonly toolchains: readonly Toolchain[] } => ({
  name,
  toolchains: of,
});

export function judgeEngines({ installed, missing, fault }: EngineFacts): readonly Finding[] {
  const confined =
    fault === undefined
      ? fine('confinement', 'a program was run confined, as each converter is')
      : broken('confinement', `no converter can be run: ${fault}`, 'fix what it names, then run this again');
  if (installed.length === 0 && missing.length === 0) return [confined];
  // Two engines may be one program.
  const versions = Object.fromEntries(installed.map(({ name, version }) => [name, version]));
  const names = [...new Set(missing.map(({ name }) => name))].filter((name) => versions[name] === undefined);
  const facts = { versions, missing: names };
  const count = Object.keys(versions).length;
  if (names.length === 0) return [confined, fine('engines', `all ${count} converters are installed`, facts)];
  const says = `${names.length} of ${count + names.length} converters are missing, and their formats with them: ${names.join(', ')}`;
  const of = [...new Set(missing.flatMap((each) => each.toolchains))].join(',');
  return [
    confined,
    weak('engines', says, `run: TOOLCHAINS=${of} make start, which installs them; TOOLCHAINS=… leaves out what is not wanted`, facts),
  ];
}

export interface UpdateFacts {
  /** Packages that converters use, with a security update by apt's lists; undefined where no package manager can be asked. */
  readonly pending: readonly string[] | undefined;
  /** Age of these lists, ms; undefined where there are none. */
  readonly listsAgeMs: number | undefined;
}

const WEEK_MS = 7 * 86_400_000;
/** apt's simulation of an upgrade takes seconds, ms. */
const UPDATES_MS = 60_000;

/** @param checkout absolute path of the project @param now ms since the epoch */
export async function readUpdates(checkout: string, now: number): Promise<UpdateFacts> {
  const script = join(checkout, 'scripts/security-updates');
  const lists = globSync('images/*/packages.txt', { cwd: checkout }).map((path) => join(checkout, path));
  if (!existsSync(script) || lists.length === 0 || !existsSync('/usr/bin/apt-get')) return { pending: undefined, listsAgeMs: undefined };
  const { stderr } = await askSystem(script, lists, UPDATES_MS);
  return { pending: packagesIn(stderr), listsAgeMs: listsAge(now) };
}

/** The first line counts them, the others name them. */
export const packagesIn = (said: string): readonly string[] => said.trim().split('\n').slice(1).join(' ').split(/\s+/).filter(Boolean);

function listsAge(now: number): number | undefined {
  const folder = '/var/lib/apt/lists';
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => /_(?:In)?Release$/.test(name)) : [];
  return files.length === 0 ? undefined : now - Math.max(...files.map((name) => statSync(join(folder, name)).ctimeMs));
}

export function judgeUpdates({ pending, listsAgeMs }: UpdateFacts): Finding {
  if (pending === undefined)
    return unseen(
      'updates',
      'the converters’ updates are unknown: the lists of their packages are not here',
      'an image is updated by a newer one; elsewhere, ask your package manager',
    );
  const facts = { pending, lists_age_days: listsAgeMs === undefined ? null : Math.floor(listsAgeMs / 86_400_000) };
  if (pending.length > 0)
    return weak(
      'updates',
      `security updates are pending for ${pending.length} packages that converters use: ${pending.join(' ')}`,
      'run as root: apt-get update && apt-get upgrade; then restart the service',
      facts,
    );
  if (listsAgeMs === undefined || listsAgeMs > WEEK_MS) {
    const age = listsAgeMs === undefined ? 'missing' : `${facts.lists_age_days} days old`;
    return weak(
      'updates',
      `whether security updates are pending is not known: apt’s lists are ${age}`,
      'run as root: apt-get update',
      facts,
    );
  }
  return fine('updates', 'no security update is pending for what converters use', facts);
}
