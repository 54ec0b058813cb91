/** Finds the devices of this machine, or of this container: the files that a GPU is used by, and what its libraries read. */
import { constants } from 'node:fs';
import { access, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeviceKind } from '../../contracts/toolchains.ts';
import type { DeviceAccess } from './policy.ts';

export interface Devices extends DeviceAccess {
  /** How many there are to be used, by kind. */
  readonly counts: Readonly<Partial<Record<DeviceKind, number>>>;
  /** Files that exist and that converters may not open. */
  readonly closed: readonly string[];
}

interface Kind {
  /** Files below /dev, one for each device. */
  readonly each: RegExp;
  /** Files that all devices of the kind share. */
  readonly shared: RegExp;
  /** Paths that its libraries read. */
  readonly reads: readonly string[];
  /** Tells our programs how many there are to compute on. */
  readonly counted?: string;
}

const KINDS: Readonly<Record<DeviceKind, Kind>> = {
  // As the NVIDIA Container Toolkit makes them; the last are those of the instances of a partitioned GPU (MIG). Not nvidia-modeset: displays.
  nvidia: {
    each: /^nvidia\d+$/,
    shared: /^(nvidiactl|nvidia-uvm|nvidia-uvm-tools|nvidia-caps\/nvidia-cap\d+)$/,
    reads: ['/proc/driver/nvidia', '/proc/driver/nvidia-uvm', '/proc/devices', '/sys/module/nvidia', '/sys/devices/system/node'],
    counted: 'CUDA_DEVICES',
  },
  // By which VA-API, Vulkan and OpenCL of Mesa and Intel reach a GPU, without its displays.
  render: { each: /^dri\/renderD\d+$/, shared: /^$/, reads: ['/sys/class/drm', '/sys/dev/char', '/usr/share/vulkan', '/etc/vulkan'] },
};

/** Where device plugins that do not enter the driver into the linker's cache mount it (GKE's). */
const DRIVER = '/usr/local/nvidia/lib64';

/**
 * @param asOthers whether converters run as separate users, who can open only files that everyone may open
 * @param dev the folder of device files
 */
export async function findDevices(kinds: readonly DeviceKind[], asOthers = process.getuid?.() === 0, dev = '/dev'): Promise<Devices> {
  const names = await namesIn(dev);
  const files: string[] = [];
  const closed: string[] = [];
  const reads: string[] = [];
  const env: Record<string, string> = {};
  const counts: Partial<Record<DeviceKind, number>> = {};
  for (const kind of kinds) {
    const { each, shared, reads: common, counted } = KINDS[kind];
    const open: string[] = [];
    for (const name of names.filter((one) => each.test(one) || shared.test(one))) {
      const path = join(dev, name);
      const isOpen = await canBeOpened(path, asOthers);
      if (isOpen !== undefined) (isOpen ? open : closed).push(path);
    }
    const devices = open.filter((path) => each.test(path.slice(dev.length + 1)));
    counts[kind] = devices.length;
    if (devices.length === 0) continue;
    files.push(...open);
    reads.push(...common, ...(await Promise.all(devices.map(describedIn))).flat());
    if (counted !== undefined) env[counted] = String(devices.length);
  }
  if (files.length > 0 && (await isThere(DRIVER))) env['LD_LIBRARY_PATH'] = DRIVER;
  return { counts, files, closed, reads, env };
}

/** Below the folder, and one folder deeper. */
async function namesIn(dev: string): Promise<readonly string[]> {
  const below = async (folder: string) => (await readdir(join(dev, folder)).catch(() => [])).map((name) => join(folder, name));
  return [...(await below('')), ...(await below('dri')), ...(await below('nvidia-caps'))].sort();
}

/** @returns undefined where it is no device, but perhaps a folder or a link */
async function canBeOpened(path: string, asOthers: boolean): Promise<boolean | undefined> {
  const { mode, isDevice } = await stat(path).then(
    (found) => ({ mode: found.mode, isDevice: found.isCharacterDevice() }),
    () => ({ mode: 0, isDevice: false }),
  );
  if (!isDevice) return undefined;
  if (asOthers) return (mode & 0o006) === 0o006;
  return access(path, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** The folder in which the kernel describes a device: libdrm looks there for its vendor and model. */
async function describedIn(path: string): Promise<readonly string[]> {
  const { rdev } = await stat(path);
  // As makedev(3) makes it, for majors below 4096 and minors below 256, which is all that GPUs have by default.
  const place = `/sys/dev/char/${(rdev >> 8) & 0xfff}:${rdev & 0xff}/device`;
  return realpath(place).then(
    (found) => [found],
    () => [],
  );
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
