/** Checks whether this worker could do a conversion now: disk space, file descriptors, a writable disk, the launcher, and the engines. */
import { closeSync, constants, openSync } from 'node:fs';
import { access, open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine, StepLimits } from '../catalog/engine.ts';
import { type Fault, faultOf } from '../contracts/messages/fault.ts';
import type { Launcher } from '../exec/confine/confine.ts';
import { isFuller } from '../exec/files/folder.ts';
import type { Slot } from '../exec/files/workspace.ts';
import type { Toolbox } from '../exec/toolbox.ts';

export interface Checks {
  /** Checks disk space, and which programs were missing at the start. Takes microseconds. */
  room(): Promise<Fault | undefined>;
  /** Checks all that is seen without writing a file and starting a program: those cost a machine at rest. */
  glance(): Promise<Fault | undefined>;
  /** Checks everything that an order needs. */
  everything(): Promise<Fault | undefined>;
  /** Whether one slot's own files fill the disk: then the disk is fine, and the conversion is too large for it. */
  isFilledByJobs(): Promise<boolean>;
}

export interface ChecksDeps {
  /** The folder that holds the slots. */
  readonly workDir: string;
  /** A slot that takes no orders. */
  readonly slot: Slot;
  /** Number of slots that take orders. */
  readonly slots: number;
  readonly launcher: Launcher;
  readonly toolbox: Toolbox;
  /** The engines that orders may need. */
  readonly engines: readonly Engine[];
  /** Programs that orders may need but that are not installed. */
  readonly lacking: readonly string[];
  /** With fewer free bytes than this the disk counts as full; 0: never. */
  readonly minFreeBytes: number;
  readonly minFreeInodes: number;
}

/** A conversion has a dozen descriptors open at a time, pipes included. */
const DESCRIPTORS = 32;
const TRIVIAL = '/bin/true';
const TRIVIAL_LIMITS: StepLimits = {
  memoryBytes: 1 << 28,
  cpuSeconds: 5,
  fileBytes: 1 << 20,
  folderBytes: 1 << 20,
  processes: 16,
  wallMs: 5_000,
};

export function checksOf(deps: ChecksDeps): Checks {
  const { workDir, slot, launcher, toolbox, engines, lacking, minFreeBytes, minFreeInodes } = deps;

  const room = async (): Promise<Fault | undefined> => {
    if (lacking.length > 0)
      return faultOf('engine_missing', `programs of its toolchain are not installed: ${lacking.join(', ')}; see worker.partial`);
    try {
      const { bavail, bsize, files, ffree } = await statfs(workDir);
      if (bavail * bsize < minFreeBytes)
        return faultOf('disk_full', `the work folder has ${bavail * bsize} bytes left: see worker.minFreeBytes`);
      // File systems without a fixed number of inodes report 0.
      if (files > 0 && ffree < minFreeInodes)
        return faultOf('disk_full', `the work folder has room for ${ffree} files: see worker.minFreeInodes`);
      return undefined;
    } catch (error) {
      return faultOf('disk_broken', `the work folder cannot be read: ${codeIn(error)}`);
    }
  };

  const checkDescriptors = (): Fault | undefined => {
    const opened: number[] = [];
    try {
      // At once: it waits for no disk, and threads would take longer for it.
      while (opened.length < DESCRIPTORS) opened.push(openSync('/dev/null', 'r'));
      return undefined;
    } catch (error) {
      return faultOf('descriptors', `no more files can be opened (${codeIn(error)}): raise the limit on open files`);
    } finally {
      for (const descriptor of opened) closeSync(descriptor);
    }
  };

  const checkWrite = async (folder: string): Promise<Fault | undefined> => {
    const path = join(folder, 'written');
    try {
      const file = await open(path, 'wx');
      try {
        await file.writeFile(Buffer.alloc(4096, 1));
        await file.sync();
      } finally {
        await file.close();
      }
      await rm(path);
      return undefined;
    } catch (error) {
      return faultOf(isFull(error) ? 'disk_full' : 'disk_broken', `the work folder cannot be written: ${codeIn(error)}`);
    }
  };

  const checkLauncher = async (folder: string): Promise<Fault | undefined> => {
    const policy = { folder, reads: [], unixSockets: false, limits: TRIVIAL_LIMITS, uid: slot.uid };
    const { ended, code, stderr } = await launcher.run(policy, { program: TRIVIAL, args: [] });
    if (ended === 'exit' && code === 0) return undefined;
    return faultOf('launcher', `no program can be run confined: ${ended} ${code ?? ''} ${stderr.slice(-300).trim()}`);
  };

  const checkEngines = async (): Promise<Fault | undefined> => {
    const uninstalled = await toolbox.uninstalled(engines);
    return uninstalled.length === 0 ? undefined : faultOf('engine_missing', `programs are no longer installed: ${uninstalled.join(', ')}`);
  };

  const checkSlot = async (): Promise<Fault | undefined> => {
    let folder: string;
    try {
      folder = await slot.makeFolder('check');
    } catch (error) {
      return faultOf(isFull(error) ? 'disk_full' : 'disk_broken', `the work folder cannot be written: ${codeIn(error)}`);
    }
    try {
      return (await checkWrite(folder)) ?? (await checkLauncher(folder));
    } finally {
      await slot.removeFolder(folder).catch(() => {});
    }
  };

  // The last check needs descriptors.
  const glance = async () => (await room()) ?? checkDescriptors() ?? (await checkEngines());

  return {
    room,
    glance,
    async everything() {
      return (await glance()) ?? (await checkSlot());
    },
    async isFilledByJobs() {
      const { bavail, bsize } = await statfs(workDir);
      const shortfall = minFreeBytes - bavail * bsize;
      if (shortfall <= 0) return true;
      for (let index = 1; index <= deps.slots; index++) {
        const home = join(workDir, `slot-${index}`);
        const exists = await access(home, constants.F_OK).then(
          () => true,
          () => false,
        );
        if (exists && (await isFuller(home, shortfall))) return true;
      }
      return false;
    },
  };
}

const codeIn = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown';
const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(codeIn(error));
