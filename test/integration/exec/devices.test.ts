/** Devices: a toolchain that has one opens, maps and controls it through the launcher, another cannot, and a machine without one is no error. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine, StepLimits } from '../../../src/catalog/engine.ts';
import { PNG } from '../../../src/catalog/known-good.ts';
import { toolchainRow } from '../../../src/contracts/toolchains.ts';
import { launcherAt } from '../../../src/exec/confine/confine.ts';
import { type Devices, findDevices } from '../../../src/exec/confine/devices.ts';
import type { DeviceAccess } from '../../../src/exec/confine/policy.ts';
import { stage } from '../../../src/exec/confine/stage.ts';
import { openSlot, type Slot } from '../../../src/exec/files/workspace.ts';
import { tryDevices } from '../../../src/exec/models/trial.ts';
import { openResidents } from '../../../src/exec/residents/residents.ts';
import { openToolbox } from '../../../src/exec/toolbox.ts';
import { devicesHere, slotsWith } from '../../../src/roles/machine/devices.ts';
import { createLog, type Log } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';

const LAUNCHER = resolve('.cache/bin/launcher');
/** Any user may open it, and no converter that was not given it: a stand-in for each device file. */
const STAND_IN = '/dev/full';
/** FIGETBSZ of linux/fs.h: a number as those of nvidia-uvm, which the kernel answers for every file. */
const BARE_COMMAND = 2;
/** DRM_IOCTL_VERSION of linux/drm.h. */
const RENDER_COMMAND = 0xc0406400;
const LIMITS: StepLimits = {
  memoryBytes: 2 ** 28,
  cpuSeconds: 10,
  fileBytes: 2 ** 20,
  folderBytes: 2 ** 24,
  processes: 16,
  wallMs: 20_000,
};

let root: string;
let probe: string;
let dev: string;
let found: Devices;
let withDevices: Slot;
let withoutDevices: Slot;

const deviceFiles = (...names: readonly string[]): string => {
  const folder = mkdtempSync(join(root, 'dev-'));
  chmodSync(folder, 0o755);
  for (const name of names) {
    mkdirSync(join(folder, name, '..'), { recursive: true, mode: 0o755 });
    symlinkSync(STAND_IN, join(folder, name));
  }
  return folder;
};

beforeAll(async () => {
  execFileSync('scripts/build-launcher');
  root = mkdtempSync(join(tmpdir(), 'filemill-devices-'));
  chmodSync(root, 0o755);
  probe = join(root, 'probe');
  execFileSync('cc', ['-static', '-O2', '-Wall', '-Wextra', '-Werror', '-pthread', '-o', probe, 'test/integration/exec/probe.c']);
  dev = deviceFiles('nvidia0', 'nvidiactl', 'nvidia-uvm', 'dri/renderD128', 'dri/card0', 'nvidia-modeset', 'kvm');
  found = await findDevices(['nvidia', 'render'], undefined, dev);
  withDevices = await openSlot(root, 1, { devices: found });
  withoutDevices = await openSlot(root, 2);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('on a machine', () => {
  it('are found by kind, with what they share, and nothing of displays', () => {
    expect(found.counts).toEqual({ nvidia: 1, render: 1 });
    const names = ['dri/renderD128', 'nvidia-uvm', 'nvidia0', 'nvidiactl'];
    expect([...found.files].sort()).toEqual(names.map((name) => join(dev, name)));
    expect(found.reads).toContain('/proc/driver/nvidia');
  });

  it('are only those that the toolchain uses', async () => {
    const { counts, files } = await findDevices(['render'], undefined, dev);
    expect({ counts, files }).toEqual({ counts: { render: 1 }, files: [join(dev, 'dri/renderD128')] });
  });

  it('may be none: that is no error, and gives no access', async () => {
    const nothing = { files: [], closed: [], reads: [], env: {} };
    expect(await findDevices(['nvidia'], undefined, join(root, 'no-such-folder'))).toEqual({ counts: { nvidia: 0 }, ...nothing });
    // The driver is there, and no device.
    expect(await findDevices(['nvidia'], undefined, deviceFiles('nvidiactl'))).toEqual({ counts: { nvidia: 0 }, ...nothing });
  });

  it('are passed over where an ordinary file has the name', async () => {
    const folder = deviceFiles();
    writeFileSync(join(folder, 'nvidia0'), '');
    expect((await findDevices(['nvidia'], undefined, folder)).files).toEqual([]);
  });

  it.runIf(process.getuid?.() === 0 && existsSync('/dev/console'))('are told of, where converters may not open them', async () => {
    // A terminal of the machine is root's alone.
    const folder = deviceFiles();
    symlinkSync('/dev/console', join(folder, 'nvidia0'));
    const { counts, files, closed } = await findDevices(['nvidia'], true, folder);
    expect({ counts, files, closed }).toEqual({ counts: { nvidia: 0 }, files: [], closed: [join(folder, 'nvidia0')] });
  });

  it('are counted in the metrics for a toolchain that can use them, and for no other', async () => {
    const metrics = createMetrics();
    const use = { kinds: ['nvidia'] as const, slotsEach: 1 };
    const deps = { log: createLog('silent'), metrics, tryThem: async () => undefined };
    const here = await devicesHere(['image', 'pdf'], { ...deps, use: (name) => (name === 'pdf' ? use : undefined) });
    expect([...here.keys()]).toEqual(['pdf']);
    const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith('filemill_worker_devices'));
    expect(lines).toEqual([`filemill_worker_devices{toolchain="pdf",kind="nvidia"} ${here.get('pdf')?.counts.nvidia}`]);
  });

  it('are left where models cannot be run on them: the log says why, and the processors have all slots', async () => {
    const metrics = createMetrics();
    const trial = {
      launcher: launcherAt(LAUNCHER),
      runtime: await stage(process.cwd(), process.execPath, root),
      spareSlot: withoutDevices,
    };
    const warned: unknown[] = [];
    const log = { ...createLog('silent'), warn: (about: object) => void warned.push(about) } as unknown as Log;
    const tried = (devices: DeviceAccess) => tryDevices(trial, devices);
    const here = await devicesHere(['ai'], { log, metrics, tryThem: tried, dev });
    // The package has the provider for CUDA in no installation but the image ai-cuda.
    expect(warned).toEqual([
      expect.objectContaining({ toolchain: 'ai', why: expect.stringContaining('libonnxruntime_providers_shared.so: cannot open') }),
    ]);
    const found = here.get('ai');
    expect(found).toMatchObject({ counts: { nvidia: 0 }, files: [], env: {} });
    expect(slotsWith(8, toolchainRow('ai').devices, found)).toBe(8);
    expect(await metrics.text()).toContain('filemill_worker_devices{toolchain="ai",kind="nvidia"} 0');
  });

  it('are used where models can be run on them, and programs are told how many there are', async () => {
    const deps = { log: createLog('silent'), metrics: createMetrics(), tryThem: async () => undefined };
    const found = (await devicesHere(['ai'], { ...deps, dev })).get('ai');
    expect(found).toMatchObject({ counts: { nvidia: 1 }, env: { CUDA_DEVICES: '1' } });
    expect(slotsWith(8, toolchainRow('ai').devices, found)).toBe(2);
  });
});

describe('a program that is run once', () => {
  /** As a toolchain's engine, by the toolbox. */
  const run = async (slot: Slot, args: readonly (string | number)[]) => {
    const engine: Engine = {
      id: 'probe',
      name: 'probe',
      role: 'image',
      toolchains: ['image'],
      binaries: { probe: { at: [probe], reads: [probe] } },
      conversions: [],
      trials: [{ file: PNG, target: 'png' }],
      options: () => [],
      plan: () => ({ steps: [] }),
    };
    const runtime = await stage(process.cwd(), process.execPath, root);
    const launcher = launcherAt(LAUNCHER);
    const toolbox = await openToolbox({
      engines: [engine],
      launcher,
      runtime,
      models: new Map(),
      slot,
      cacheFile: join(root, 'versions.json'),
    });
    const folder = await slot.makeFolder('job');
    const where = { slot, folder, limits: LIMITS, signal: new AbortController().signal };
    const { ended, code, stdout } = await toolbox.run(engine, { run: 'probe', args: args.map(String) }, where);
    return { ended, code, error: stdout.toString().trim() };
  };
  const done = { ended: 'exit', code: 0, error: '' };
  const refused = (error: string) => ({ ended: 'exit', code: 1, error });

  it('opens and reads its device', async () => expect(await run(withDevices, ['read', join(dev, 'nvidia0')])).toEqual(done));
  it('opens it for writing', async () => expect(await run(withDevices, ['write', join(dev, 'nvidia0')])).toEqual(done));
  it('controls it', async () => expect(await run(withDevices, ['control', join(dev, 'nvidia0'), BARE_COMMAND])).toEqual(done));
  it("reaches its driver with the driver's commands", async () =>
    // The stand-in's driver knows none: Landlock would say EACCES.
    expect(await run(withDevices, ['control', join(dev, 'dri/renderD128'), RENDER_COMMAND])).toEqual(refused('ENOTTY')));
  it("names its threads, without which NVIDIA's driver gives up", async () => {
    expect(await run(withDevices, ['write', '/proc/thread-self/comm'])).toEqual(done);
    expect(await run(withoutDevices, ['write', '/proc/thread-self/comm'])).toEqual(refused('EACCES'));
  });
  it('controls no terminal by that', async () => expect(await run(withDevices, ['ioctl', 0x5452])).toEqual(refused('ENOTTY')));
  it('opens no other device', async () => {
    expect(await run(withDevices, ['read', '/dev/tty'])).toEqual(refused('EACCES'));
    expect(await run(withDevices, ['read', '/dev/ptmx'])).toEqual(refused('EACCES'));
  });

  it.each(['read', 'write'])('of a toolchain without devices cannot open it to %s', async (action) =>
    expect(await run(withoutDevices, [action, join(dev, 'nvidia0')])).toEqual(refused('EACCES')),
  );
  it('of a toolchain without devices has no command for what it can open', async () =>
    expect(await run(withoutDevices, ['control', '/dev/null', BARE_COMMAND])).toEqual(refused('ENOTTY')));
  it('is not started with an ordinary file in place of a device', async () => {
    const file = join(root, 'file');
    writeFileSync(file, 'x');
    const slot = { ...withDevices, computesOn: { devices: { files: [file], reads: [], env: {} } } };
    expect(await run(slot, ['read', file]).catch((error: unknown) => error)).toMatchObject({ ended: 'launcher' });
  });
});

describe('a program that stays', () => {
  /** Says that it is ready once it has opened the device. */
  const SCRIPT = `
import json, sys
open(sys.argv[1], 'rb', buffering=0).read(1)
print(json.dumps({'ready': True}), flush=True)
for line in sys.stdin:
    print(json.dumps({'ok': True}), flush=True)
`;
  const start = async (slot: Slot) => {
    const residents = openResidents({ launcher: launcherAt(LAUNCHER), slot, perLife: 1, leakBytes: 2 ** 30, idleMs: 60_000 });
    const program = { program: '/usr/bin/python3', args: ['-c', SCRIPT, join(dev, 'nvidia0')], reads: [], unixSockets: false };
    const folder = await slot.makeFolder('request');
    const input = join(folder, 'input.txt');
    writeFileSync(input, 'x');
    slot.own(input);
    slot.makeOwned(join(folder, 'out'));
    try {
      const files = { input, output: join(folder, 'out') };
      return await residents.ask('probe', program, {}, files, { limits: LIMITS, signal: new AbortController().signal });
    } finally {
      await residents.close();
      await slot.removeFolder(folder);
    }
  };

  it('has the devices of its slot', async () => expect(await start(withDevices)).toMatchObject({ ok: true }));
  it('has none in a slot without devices', async () => {
    const error = await start(withoutDevices).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ why: 'start' });
  });
});

describe('the slots of a worker', () => {
  const use = { kinds: ['nvidia', 'render'], slotsEach: 2 } as const;
  it.each([
    ['are as many as its device allows', 8, use, { nvidia: 1, render: 0 }, 2],
    ['are more on two devices', 8, use, { nvidia: 2, render: 0 }, 4],
    ['are not added up for a device with files of two kinds', 8, use, { nvidia: 1, render: 1 }, 2],
    ['are no more than are set', 1, use, { nvidia: 1, render: 0 }, 1],
    ['are all that are set where no device was found', 8, use, { nvidia: 0, render: 0 }, 8],
    ['are all that are set where the toolchain uses none', 8, undefined, {}, 8],
  ])('%s', (_, configured, used, counts, slots) => expect(slotsWith(configured, used, { counts })).toBe(slots));
});
