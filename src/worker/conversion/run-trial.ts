/** Runs one trial in a slot, exactly as a conversion runs: the same programs, the same warm processes, the same confinement. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine, Trial } from '../../catalog/engine.ts';
import { type HopDeps, runHop } from './run-hop.ts';

/** A trial takes a second at most, but a machine may be busy, or read the program from a slow disk for the first time, ms. */
const LONGEST_MS = 60_000;

/** @throws Failure `CONVERSION_FAILED`, or what kept it from running */
export async function runTrial(
  { slot, stepper, judge, limits }: HopDeps,
  engine: Engine,
  trial: Trial,
  signal: AbortSignal,
): Promise<void> {
  const { format, content, encoding } = trial.file;
  const base = await slot.makeFolder('trial');
  try {
    const input = join(base, `input.${format}`);
    await writeFile(input, content, { encoding, flag: 'wx' });
    slot.own(input);
    const tight = { ...limits, wallMs: Math.min(limits.wallMs, LONGEST_MS) };
    const way = { engine, source: format, target: trial.target, options: {}, input, passwordFile: undefined };
    await runHop(
      { slot, stepper, judge, limits: tight },
      { ...way, found: {}, base, folder: join(base, 'hop'), signal, onProgress: () => {} },
    );
  } finally {
    await slot.removeFolder(base).catch(() => {});
  }
}
