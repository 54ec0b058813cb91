/** Runs real conversions without their toolchain's list of system calls, and tells which calls they made all the same. */

import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join, resolve } from 'node:path';
import {
  type ConversationStep,
  type Conversion,
  type Engine,
  isInspected,
  modelsOf,
  type ProcessStep,
  type StepLimits,
} from '../../../src/catalog/engine.ts';
import { engines } from '../../../src/catalog/engines.gen.ts';
import type { Toolchain } from '../../../src/contracts/toolchains.ts';
import { type Launcher, launcherAt } from '../../../src/exec/confine/confine.ts';
import { stage } from '../../../src/exec/confine/stage.ts';
import { openSlot, type Slot } from '../../../src/exec/files/workspace.ts';
import { openResidents } from '../../../src/exec/residents/residents.ts';
import { openToolbox, type Toolbox } from '../../../src/exec/toolbox.ts';
import { modelsHere } from '../../../src/roles/machine/models.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { carryOut } from '../../kit/exec/plan-runner.ts';
import { fixtures as archives } from '../../kit/fixtures/archives.ts';
import { fixtures as documents, scannedPdf } from '../../kit/fixtures/documents/documents.ts';
import { fixtures as fonts } from '../../kit/fixtures/fonts/fonts.ts';
import { fixtures as media } from '../../kit/fixtures/media/media.ts';
import { fixtures as models } from '../../kit/fixtures/models3d/models.ts';
import { fixtures as images } from '../../kit/fixtures/pictures/images.ts';
import type { Fixture } from '../../kit/fixtures/written.ts';

/** One line of a list: a verb, names, and what is said about them after `#`. */
export interface Entry {
  readonly verb: string;
  readonly names: readonly string[];
  readonly words: string;
}

export async function readCalls(path: string): Promise<readonly Entry[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => {
    const [calls = '', words = ''] = line.split('#');
    const [verb = '', ...names] = calls.trim().split(/\s+/);
    return { verb, names, words: words.trim() };
  });
}

export interface Recorded {
  readonly engine: string;
  readonly toolchain: Toolchain;
  readonly pair: string;
  /** Beyond `native/syscalls.txt`. */
  readonly calls: readonly string[];
  /** What a failed step said. */
  readonly failed: string | undefined;
}

const LIMITS: StepLimits = {
  memoryBytes: 2 ** 31,
  cpuSeconds: 120,
  fileBytes: 2 ** 30,
  folderBytes: 2 ** 31,
  processes: 128,
  wallMs: 120_000,
};

/** Sources of engines whose programs start others for some sources only. */
const SOURCES: Readonly<Record<string, Fixture>> = { scans: scannedPdf };

/** @param pairs which of an engine's conversions are tried */
export async function recordCalls(pairs: (engine: Engine) => readonly Conversion[], isWanted = (_: Engine) => true): Promise<Recorded[]> {
  const root = await mkdtemp(join(tmpdir(), 'filemill-calls-'));
  try {
    await chmod(root, 0o711);
    const slot = await openSlot(root, 0);
    const calls = new Set<string>();
    const inner = launcherAt(resolve('.cache/bin/launcher'), { record: true });
    const launcher: typeof inner = {
      ...inner,
      async run(policy, command) {
        const outcome = await inner.run({ ...policy, calls: undefined }, command);
        for (const name of outcome.otherCalls) calls.add(name);
        return outcome;
      },
      // Our own programs keep their own list, which is no toolchain's.
      start(policy, command) {
        const confined = inner.start(policy, command);
        void confined.ended.then(({ otherCalls }) => otherCalls.map((name) => calls.add(name)));
        return confined;
      },
    };
    const wanted = engines.filter(isWanted);
    const runtime = await stage(process.cwd(), process.execPath, root);
    const toolbox = await openToolbox({
      engines: wanted,
      launcher,
      runtime,
      // Those whose model is not here are not recorded.
      models: await modelsHere(new Set(wanted.flatMap(modelsOf)), process.cwd(), { folder: undefined, copies: root }, createLog('silent'), {
        modelsFound() {},
      }),
      cacheFile: join(root, 'versions'),
      slot,
    });
    const recorded: Recorded[] = [];
    for (const { engine } of toolbox.installed) {
      for (const { source, target } of pairs(engine)) {
        calls.clear();
        const failed = await convert(toolbox, launcher, slot, engine, source, target).catch((error: Error) => error.message);
        const [toolchain = 'image' as const] = engine.toolchains;
        recorded.push({ engine: engine.id, toolchain, pair: `${source} ${target}`, calls: [...calls].sort(), failed });
      }
    }
    return recorded;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** @returns what a step said that failed */
async function convert(
  toolbox: Toolbox,
  launcher: Launcher,
  slot: Slot,
  engine: Engine,
  source: string,
  target: string,
): Promise<string | undefined> {
  const build = SOURCES[engine.id] ?? { ...documents, ...media, ...images, ...archives, ...fonts, ...models }[source];
  const folder = await slot.makeFolder('job');
  const made = await mkdtemp(join(tmpdir(), 'filemill-source-'));
  try {
    const from = await build?.('kestrel', made);
    if (from === undefined) throw new Error(`no fixture builds a ${source}`);
    const input = join(folder, `input${extname(from)}`);
    await copyFile(from, input);
    slot.own(input);
    const [output, scratch] = [join(folder, 'output'), join(folder, 'scratch')];
    for (const path of [output, scratch]) slot.makeOwned(path);
    const asked = { source, target, options: {}, passwordFile: undefined };
    const where = { slot, folder, limits: { ...LIMITS, ...engine.limits }, signal: AbortSignal.timeout(LIMITS.wallMs) };
    const run = async (step: ProcessStep) => {
      const { ended, code, stdout, stderr } = await toolbox.run(engine, step, where);
      const fine = ended === 'exit' && (step.succeeds ?? [0]).includes(code ?? -1);
      if (!fine) throw new Error(`${step.run} ${ended} ${code}: ${stderr}${stdout}`);
      return stdout.toString();
    };
    const { inspect } = engine;
    const facts = inspect === undefined || !isInspected(inspect, source) ? {} : inspect.read(await run(inspect.step(input, asked)), asked);
    const talk = async (step: ConversationStep) => {
      const residents = openResidents({ launcher, slot, perLife: 1, leakBytes: LIMITS.memoryBytes, idleMs: 0 });
      const files = { input: step.input ?? input, output: step.output ?? output };
      const answer = await residents.ask('talk', toolbox.resolve(engine, step.talk), step.conversation, files, where);
      await residents.close();
      if (!answer.ok) throw new Error(`${step.talk}: ${answer.words}`);
    };
    await carryOut(engine.plan({ ...asked, input, output, scratch, facts }), (step) =>
      'talk' in step ? talk(step) : run('run' in step ? step : step.otherwise),
    );
    return undefined;
  } finally {
    await rm(made, { recursive: true, force: true });
    if (existsSync(folder)) await slot.removeFolder(folder);
  }
}
