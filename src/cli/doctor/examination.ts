/** Everything that `filemill doctor` looks at, in the order in which it is shown. A look that fails or takes too long is itself a finding. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, ConfigError, loadConfig } from '../../config.ts';
import { toolchainRow, toolchains } from '../../contracts/toolchains.ts';
import { reachableFolder } from '../../roles/machine/data-dir.ts';
import { commitOf, versionAt } from '../../roles/process/program.ts';
import { NewerData, refuseNewer } from '../../sqlite/data-version.ts';
import { within } from '../../streams/deadline.ts';
import { judgeDisk, readDisk } from './disk.ts';
import { judgeEngines, judgeUpdates, readEngines, readUpdates } from './engines.ts';
import { broken, type Finding, type FindingState, findingStates, fine, unseen } from './finding.ts';
import { judgeFonts, readFonts } from './fonts.ts';
import { judgeKernel, readKernel } from './kernel.ts';
import { judgeClock, judgeMachine, readClock, readMachine } from './machine.ts';
import { judgeModels, readModels } from './models.ts';
import { hostToAsk, judgePort, judgeProxies, readPort } from './port.ts';
import { judgePublic, readPublic } from './public-url.ts';

export interface Examination {
  readonly version: string;
  readonly commit: string | undefined;
  readonly checkedAt: string;
  readonly findings: readonly Finding[];
  /** As the service has it; the default where it has mistakes. */
  readonly config: Config;
}

/** Longest of one look, ms: the versions of all converters are read in seconds, unless the disk is very busy. */
const LOOK_MS = 120_000;

/** Families of formats whose text is laid out here, as is that of web pages. */
const SET_IN_FONTS: ReadonlySet<string> = new Set(['document', 'sheet', 'slides', 'markup']);

type Environment = Readonly<Record<string, string | undefined>>;

/** @param checkout absolute path of the project @param now ms since the epoch */
export async function examine(checkout: string, environment: Environment, now: () => number = Date.now): Promise<Examination> {
  const program = { version: versionAt(checkout), commit: commitOf(checkout, environment) };
  const { config, settings } = readSettings(environment);
  const { dataDir, worker, api, storage } = config;
  const served = worker.toolchains ?? toolchains;
  const look = (check: string, work: () => Promise<readonly Finding[]>) => looked(check, work);

  // One after another: they share the processors with a service that may be busy.
  const kernel = await look('kernel', async () => judgeKernel(await readKernel(join(checkout, '.cache/bin/launcher'))));
  const engines = await look('engines', async () => judgeEngines(await readEngines(config, checkout)));
  const updates = await look('updates', async () => [judgeUpdates(await readUpdates(checkout, now()))]);
  const setsText = served
    .map(toolchainRow)
    .some(({ families, reaches }) => reaches === 'internet' || families.some((family) => SET_IN_FONTS.has(family)));
  const fonts = await look('fonts', async () => (setsText ? [judgeFonts(await readFonts())] : []));
  const models = await look('models', async () => [judgeModels(await readModels(worker.models, checkout, served))]);
  const machine = await look('machine', async () => judgeMachine(readMachine()));
  const disks = await look('disk', async () => [
    judgeDisk('disk', readDisk(dataDir, 'DATA_DIR', storage.minFreeBytes)),
    judgeDisk('work-disk', readDisk(worker.dir ?? workFolder(dataDir), 'WORK_DIR', worker.minFreeBytes)),
  ]);
  const data = await look('data', async () => [judgeData(dataDir, program.version)]);
  const port = await look('port', async () => judgePort(api.port, await readPort(hostToAsk(api.host), api.port), program));
  const proxies = await look('proxy', async () => judgeProxies(config, environment));
  let aheadMs: number | undefined;
  const reached = await look('public-url', async () => {
    const facts = api.publicUrl === undefined ? undefined : await readPublic(api.publicUrl, now);
    aheadMs = facts?.aheadMs;
    return judgePublic(facts, program);
  });
  const clock = await look('clock', async () => [judgeClock(await readClock(aheadMs))]);
  const findings = [
    settings,
    ...kernel,
    ...engines,
    ...updates,
    ...fonts,
    ...models,
    ...machine,
    ...disks,
    ...data,
    ...port,
    ...proxies,
    ...reached,
    ...clock,
  ];
  return { ...program, checkedAt: new Date(now()).toISOString(), findings, config };
}

/** How many there are of each state. */
export const tallyOf = (findings: readonly Finding[]): Readonly<Record<FindingState, number>> =>
  Object.fromEntries(findingStates.map((state) => [state, findings.filter((each) => each.state === state).length])) as Record<
    FindingState,
    number
  >;

async function looked(check: string, work: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await within(LOOK_MS, undefined, () => new Error(`it took longer than ${LOOK_MS / 1000} s`), work);
  } catch (error) {
    return [
      unseen(
        check,
        `this could not be looked at: ${(error as Error).message.split('\n')[0]}`,
        'run this as the service’s user, or as root',
      ),
    ];
  }
}

/** Before the first start there is no folder to ask who can read it. */
const workFolder = (dataDir: string): string => (existsSync(dataDir) ? reachableFolder(dataDir) : join(dataDir, 'work'));

/** The mistakes of the settings are a finding, and the rest is looked at with the defaults. */
function readSettings(environment: Environment): { readonly config: Config; readonly settings: Finding } {
  try {
    return { config: loadConfig(environment), settings: fine('settings', 'the settings have no mistake') };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const mistakes = error.message
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
    const says = `the settings have ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}, and the rest was looked at with the defaults: ${mistakes.join('; ')}`;
    return { config: defaultsAt(environment), settings: broken('settings', says, 'mend them: docs/configuration.md', { mistakes }) };
  }
}

/** The defaults for the data folder of the environment, unless that is one of the mistakes. */
function defaultsAt({ DATA_DIR }: Environment): Config {
  try {
    return loadConfig({ DATA_DIR });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return loadConfig({});
  }
}

function judgeData(dataDir: string, version: string): Finding {
  try {
    const found = refuseNewer(join(dataDir, 'filemill.db'), version);
    return found === undefined
      ? fine('data', `${dataDir} has no data yet`, { version: null })
      : fine('data', `the data folder has version ${found}, which this filemill reads`, { version: found });
  } catch (error) {
    if (error instanceof NewerData) return broken('data', error.message, 'do as it says');
    throw error;
  }
}
