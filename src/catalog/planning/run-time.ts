/** How long one step may run: as long as files of its size need on a slow and busy machine, so that a kilobyte does not hold a slot for ten minutes. */
import { allowanceOf, type EngineRole } from '../../contracts/toolchains.ts';

const MIB = 1 << 20;

/** @param bytes of all inputs together @returns ms */
export function runTimeMs(role: EngineRole, bytes: number): number {
  const { base, perMiB } = allowanceOf(role);
  return Math.ceil((base + (perMiB * bytes) / MIB) * 1000);
}
