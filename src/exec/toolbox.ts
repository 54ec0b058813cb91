/** Finds the converters on this machine, reads their versions, and runs their steps confined. */

import { accessSync, statSync } from 'node:fs';
import { access, constants, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Installed } from '../catalog/catalog.ts';
import type { Binary, Engine, ProcessStep, StepLimits } from '../catalog/engine.ts';
import type { Launcher } from './confine/confine.ts';
import { NATIVE_PROGRAMS, type ProcessOutcome, SpawnFailed } from './confine/policy.ts';
import type { Runtime } from './confine/stage.ts';
import type { Slot } from './files/workspace.ts';
import type { Program } from './residents/process.ts';

/** How a binary is started on this machine. */
export interface Resolved extends Program {
  /** It connects to the Internet: starting it needs the port of the egress proxy. */
  readonly egress: boolean;
}

export interface Toolbox {
  readonly installed: readonly Installed[];
  /** Engines that cannot run here, and which of their binaries are missing. */
  readonly missing: readonly { readonly engine: Engine; readonly binaries: readonly string[] }[];
  /** @param proxyPort of the proxy, for a program that goes to the Internet */
  resolve(engine: Engine, binary: string, proxyPort?: number): Resolved;
  /** @throws SpawnFailed */
  run(engine: Engine, step: ProcessStep, where: RunIn): Promise<ProcessOutcome>;
  /** Changes when a program of the engine is replaced or removed; what it loads is not looked at. */
  stampOf(engine: Engine): Promise<string>;
  /** Programs of these engines that were installed at the start and are not any more. */
  uninstalled(engines: readonly Engine[]): Promise<readonly string[]>;
}

export interface RunIn {
  readonly slot: Slot;
  /** Absolute path of the only folder that the step may write to. */
  readonly folder: string;
  readonly limits: StepLimits;
  readonly signal: AbortSignal;
  readonly onLine?: (line: string) => void;
  /** See `resolve`. */
  readonly proxyPort?: number | undefined;
}

const PYTHON = '/usr/bin/python3';
/** Larger than any text that a step may write to its standard output. */
const STDOUT_BYTES = 64 * 1024 * 1024;
const VERSION_LIMITS: StepLimits = {
  memoryBytes: 1 << 30,
  cpuSeconds: 20,
  fileBytes: 1 << 20,
  folderBytes: 1 << 24,
  processes: 64,
  wallMs: 20_000,
};

export interface ToolboxOptions {
  readonly engines: readonly Engine[];
  readonly launcher: Launcher;
  readonly runtime: Runtime;
  /** Folders of the models that are here, by id. */
  readonly models: ReadonlyMap<string, string>;
  /** Caches versions between starts: reading a dozen takes seconds, and they change only with the binary. */
  readonly cacheFile: string;
  /** The same, of an image: what was read when it was built. Need not exist. */
  readonly knownFile?: string;
  /** The slot in which version commands run. */
  readonly slot: Slot;
}

/** @throws SpawnFailed if a version command cannot be started */
export async function openToolbox({ engines, launcher, runtime, models, slot, ...files }: ToolboxOptions): Promise<Toolbox> {
  const found = new Map<string, Resolved>();
  const installed: Engine[] = [];
  const missing: { engine: Engine; binaries: string[] }[] = [];
  for (const engine of engines) {
    const lacking: string[] = [];
    for (const [name, binary] of Object.entries(engine.binaries)) {
      const resolved = resolveBinary(binary, runtime, models);
      const started = found.get(`${engine.id} ${binary.starts}`)?.program;
      if (resolved === undefined) lacking.push(name);
      else found.set(`${engine.id} ${name}`, { calls: engine.toolchains[0], ...starting(resolved, binary.starts, started) });
    }
    if (lacking.length === 0) installed.push(engine);
    else missing.push({ engine, binaries: lacking });
  }

  const resolve: Toolbox['resolve'] = (engine, binary, proxyPort) => {
    const resolved = found.get(`${engine.id} ${binary}`);
    if (resolved === undefined) throw new Error(`engine ${engine.id} has no binary ${binary}`);
    if (!resolved.egress || proxyPort === undefined) return resolved;
    return { ...resolved, tcpPort: proxyPort, args: [...resolved.args, `--proxy=${proxyPort}`] };
  };

  const run = async (engine: Engine, step: ProcessStep, where: RunIn): Promise<ProcessOutcome> => {
    const { slot, folder, limits, signal, onLine, proxyPort } = where;
    const { program, args, reads, calls, unixSockets, tcpPort } = resolve(engine, step.run, proxyPort);
    const outcome = await launcher.run(
      { folder, reads, calls, unixSockets, tcpPort, limits, uid: slot.uid, ...slot.computesOn },
      {
        program,
        args: [...args, ...step.args],
        signal,
        ...(step.stdin === undefined ? {} : { stdin: step.stdin }),
        ...(onLine === undefined ? {} : { onLine }),
        ...(step.stdoutTo === undefined ? {} : { keepBytes: STDOUT_BYTES }),
      },
    );
    if (outcome.notStarted !== undefined) throw new SpawnFailed(outcome.notStarted);
    if (step.stdoutTo !== undefined && outcome.ended === 'exit') await writeFile(step.stdoutTo, outcome.stdout, { flag: 'wx' });
    return outcome;
  };

  const programsOf = (engine: Engine): readonly string[] =>
    Object.keys(engine.binaries).flatMap((name) => found.get(`${engine.id} ${name}`)?.program ?? []);

  const stampOf: Toolbox['stampOf'] = async (engine) => {
    const stamps = programsOf(engine).map(async (program) => {
      const { dev, ino, size, mtimeMs } = await stat(program);
      return `${dev} ${ino} ${size} ${mtimeMs}`;
    });
    return (await Promise.all(stamps.map((stamp) => stamp.catch(() => 'gone')))).join();
  };

  const uninstalled: Toolbox['uninstalled'] = async (those) => {
    const programs = new Set(those.flatMap(programsOf));
    const lacking: string[] = [];
    for (const program of programs) await access(program, constants.X_OK).catch(() => lacking.push(basename(program)));
    return lacking;
  };

  const versions = await readVersions(installed, resolve, run, { slot, ...files });
  return {
    installed: installed.map((engine) => ({ engine, version: '', ...versions.get(engine.id) })),
    missing,
    resolve,
    run,
    stampOf,
    uninstalled,
  };
}

/** It is told the path of a program that it starts itself, and may read that. */
const starting = (resolved: Resolved, name: string | undefined, path: string | undefined): Resolved =>
  path === undefined ? resolved : { ...resolved, args: [...resolved.args, `--${name}=${path}`], reads: [...resolved.reads, path] };

// Synchronous, as all that each start does: a call takes microseconds, and the thread pool would cost twenty times that.
function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function resolveBinary(binary: Binary, runtime: Runtime, models: ReadonlyMap<string, string>): Resolved | undefined {
  const needed = (binary.models ?? []).map((id) => [id, models.get(id)] as const);
  if (needed.some(([, folder]) => folder === undefined)) return undefined;
  const held = [...needed, ...(binary.helpers ?? []).map((id) => [id, models.get(id)] as const)].filter(
    ([, folder]) => folder !== undefined,
  );
  for (const candidate of binary.at) {
    const native = NATIVE_PROGRAMS.find((name) => candidate === `native:${name}`);
    if (native !== undefined) {
      const { program, library } = runtime.native(native);
      if (isExecutable(program))
        return { program, args: [library], reads: [program, library], calls: native, unixSockets: false, egress: false };
      continue;
    }
    const script = /^program:(.+)$/.exec(candidate)?.[1];
    const program = script === undefined ? candidate : script.endsWith('.py') ? PYTHON : runtime.node;
    if (!isExecutable(program)) continue;
    const ours = script === undefined ? [] : runtime.reads;
    return {
      program,
      args: [...(script === undefined ? [] : [runtime.pathOf(script)]), ...held.map(([id, folder]) => `--${id}=${folder}`)],
      reads: [...ours, ...(binary.reads ?? []), ...held.map(([, folder]) => folder ?? '')],
      unixSockets: binary.unixSockets ?? false,
      forkServer: binary.forkServer ?? false,
      egress: binary.egress ?? false,
      holdsModels: held.length > 0,
    };
  }
  return undefined;
}

/** Versions of other installations, or of programs that were replaced. */
const MOST_KEPT = 500;
/** What a program says of itself. */
type Read = Omit<Installed, 'engine'>;

/** @returns versions by engine id; empty if the binary does not print one */
async function readVersions(
  engines: readonly Engine[],
  resolve: Toolbox['resolve'],
  run: Toolbox['run'],
  { cacheFile, knownFile, slot }: Pick<ToolboxOptions, 'cacheFile' | 'knownFile' | 'slot'>,
): Promise<ReadonlyMap<string, Read>> {
  const readIn = (file: string) =>
    readFile(file, 'utf8').then(
      (text) => JSON.parse(text) as Record<string, Read>,
      (): Record<string, Read> => ({}),
    );
  const kept = await readIn(cacheFile);
  const cache = { ...(knownFile === undefined ? {} : await readIn(knownFile)), ...kept };
  const fresh: Record<string, Read> = {};
  const versions = new Map<string, Read>();
  let folder: string | undefined;
  for (const engine of engines) {
    const [name, binary] = Object.entries(engine.binaries)[0] ?? [];
    if (name === undefined || binary?.version === undefined) continue;
    const { program, args } = resolve(engine, name);
    const { mtimeMs, size } = statSync(program);
    const key = `${engine.id} ${[program, ...args].join(' ')} ${mtimeMs} ${size}`;
    let read = cache[key];
    if (read?.version === undefined) {
      const step: ProcessStep = { run: name, args: binary.version.args };
      folder ??= await slot.makeFolder('versions');
      const outcome = await run(engine, step, { slot, folder, limits: VERSION_LIMITS, signal: AbortSignal.timeout(VERSION_LIMITS.wallMs) });
      const text = `${outcome.stdout.toString()}\n${outcome.stderr}`;
      read = { version: binary.version.pattern.exec(text)?.[1] ?? '', ...(binary.version.forks?.test(text) && { forks: true }) };
    }
    versions.set(engine.id, read);
    if (read.version !== '') fresh[key] = read;
  }
  if (folder !== undefined) await slot.removeFolder(folder);
  // Two processes may start at a time, and most starts find nothing new. What another checkout has read stays: they would read all by turns.
  if (Object.keys(fresh).some((key) => !Object.hasOwn(kept, key))) {
    const others = Object.entries(kept).filter(([key]) => !Object.hasOwn(fresh, key));
    const text = JSON.stringify(Object.fromEntries([...others.slice(-MOST_KEPT), ...Object.entries(fresh)]));
    await writeFile(`${cacheFile}.${process.pid}`, text);
    await rename(`${cacheFile}.${process.pid}`, cacheFile);
  }
  return versions;
}
