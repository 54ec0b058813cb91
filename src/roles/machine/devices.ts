/** The devices of this machine that toolchains can use, and how many slots these leave them. */
import { type DeviceUse, type Toolchain, toolchainRow } from '../../contracts/toolchains.ts';
import { type Devices, findDevices } from '../../exec/confine/devices.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

/** By toolchain, of those that can use devices: also where none was found. */
export type DevicesHere = ReadonlyMap<Toolchain, Devices>;

/** @param those the toolchains of this process @param use what each can use */
export async function devicesHere(
  those: readonly Toolchain[],
  log: Log,
  metrics: Pick<Metrics, 'devicesFound'>,
  use: (toolchain: Toolchain) => DeviceUse | undefined = (toolchain) => toolchainRow(toolchain).devices,
): Promise<DevicesHere> {
  const here = new Map<Toolchain, Devices>();
  for (const toolchain of those) {
    const kinds = use(toolchain)?.kinds;
    if (kinds === undefined) continue;
    const devices = await findDevices(kinds);
    const { counts, files, closed } = devices;
    here.set(toolchain, devices);
    metrics.devicesFound(toolchain, counts);
    if (closed.length > 0) log.warn({ toolchain, closed }, 'converters may not open these devices: see "Devices" in docs/operating.md');
    if (files.length > 0) log.info({ toolchain, devices: counts, files }, 'converters of this toolchain use these devices');
    else log.info({ toolchain, kinds }, 'no device was found: converters of this toolchain use the processors');
  }
  return here;
}

/** One device may have a file of each kind, so kinds are not added up. Where there is none, the processors do the work: all slots stay. */
export function slotsWith(configured: number, use: DeviceUse | undefined, { counts }: Pick<Devices, 'counts'> = { counts: {} }): number {
  const devices = Math.max(0, ...Object.values(counts));
  return use === undefined || devices === 0 ? configured : Math.min(configured, devices * use.slotsEach);
}
