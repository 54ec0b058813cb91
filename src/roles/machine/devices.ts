/** The devices of this machine that toolchains can use, and how many slots these leave them. */
import { type DeviceUse, type Toolchain, toolchainRow } from '../../contracts/toolchains.ts';
import { type Devices, findDevices } from '../../exec/confine/devices.ts';
import type { DeviceAccess } from '../../exec/confine/policy.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

/** By toolchain, of those that can use devices: also where none was found. */
export type DevicesHere = ReadonlyMap<Toolchain, Devices>;

export interface DevicesDeps {
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'devicesFound'>;
  /** @returns why programs cannot compute on them, where they cannot */
  readonly tryThem: (devices: DeviceAccess) => Promise<string | undefined>;
  /** What each toolchain can use. */
  readonly use?: (toolchain: Toolchain) => DeviceUse | undefined;
  /** The folder of device files. */
  readonly dev?: string;
}

/** @param those the toolchains of this process */
export async function devicesHere(
  those: readonly Toolchain[],
  { log, metrics, tryThem, use = (toolchain) => toolchainRow(toolchain).devices, dev }: DevicesDeps,
): Promise<DevicesHere> {
  const here = new Map<Toolchain, Devices>();
  for (const toolchain of those) {
    const kinds = use(toolchain)?.kinds;
    if (kinds === undefined) continue;
    const found = await findDevices(kinds, undefined, dev);
    const { counts, files, closed } = found;
    if (closed.length > 0)
      log.warn({ toolchain, closed }, 'converters may not open these devices: see "Devices" in docs/operating/size.md');
    const why = files.length === 0 ? undefined : await tryThem(found);
    if (why !== undefined)
      log.warn(
        { toolchain, devices: counts, why },
        'a device was found but cannot be used: converters of this toolchain use the processors',
      );
    else if (files.length > 0) log.info({ toolchain, devices: counts, files }, 'converters of this toolchain use these devices');
    else log.info({ toolchain, kinds }, 'no device was found: converters of this toolchain use the processors');
    const none = { counts: Object.fromEntries(kinds.map((kind) => [kind, 0])), files: [], reads: [], env: {}, closed };
    const usable = why === undefined ? found : none;
    here.set(toolchain, usable);
    metrics.devicesFound(toolchain, usable.counts);
  }
  return here;
}

/** One device may have a file of each kind, so kinds are not added up. Where there is none, the processors do the work: all slots stay. */
export function slotsWith(configured: number, use: DeviceUse | undefined, { counts }: Pick<Devices, 'counts'> = { counts: {} }): number {
  const devices = Math.max(0, ...Object.values(counts));
  return use === undefined || devices === 0 ? configured : Math.min(configured, devices * use.slotsEach);
}
