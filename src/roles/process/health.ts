/** The health of the workers of this process. */

import type { Engine } from '../../catalog/engine.ts';
import type { Config } from '../../config.ts';
import type { Toolchain } from '../../contracts/toolchains.ts';
import type { Log } from '../../telemetry/log.ts';
import { checksOf } from '../../worker/checks.ts';
import { type EngineHealth, watchHealth } from '../../worker/health.ts';
import type { Converters } from '../machine/converters.ts';

/**
 * @param slots by toolchain
 * @param others whether other workers may have an engine that is missing here; if not, only the conversions of that engine fail
 */
export function healthOf(
  { workDir, launcher, toolbox, spareSlot }: Converters,
  { worker: { minFreeBytes, minFreeInodes, partial } }: Config,
  { slots, others }: { readonly slots: Partial<Readonly<Record<Toolchain, number>>>; readonly others: boolean },
  log: Log,
): EngineHealth {
  const isNeeded = ({ toolchains }: Engine) => others && toolchains.some((toolchain) => (slots[toolchain] ?? 0) > 0);
  const engines = toolbox.installed.map(({ engine }) => engine).filter(isNeeded);
  const lacking = partial ? [] : toolbox.missing.flatMap(({ engine, binaries }) => (isNeeded(engine) ? binaries : []));
  const count = Object.values(slots).reduce((sum, each) => sum + each, 0);
  const checks = checksOf({ workDir, slot: spareSlot, slots: count, launcher, toolbox, engines, lacking, minFreeBytes, minFreeInodes });
  return watchHealth(checks, { others }, log);
}
