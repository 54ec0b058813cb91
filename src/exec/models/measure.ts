/** How long a graph takes here, and what memory: in a process that does nothing else. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);
const LONGEST_MS = 5 * 60_000;
/** Values of results. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Status of a device that cannot be used. */
const ABSENT = 3;

const measured = z.object({ loadMs: z.number(), runMs: z.number(), memoryBytes: z.number(), values: z.array(z.array(z.number())) });
/** `values` are some of each result, by which two devices are compared. */
export type Measured = Readonly<z.infer<typeof measured>>;

/**
 * @param graph absolute path @param device as ONNX Runtime calls it @param sizes of dimensions, by name
 * @returns why the device cannot be used, where it cannot
 */
export async function measureGraph(
  graph: string,
  device: string,
  checkout: string,
  sizes: Readonly<Record<string, number>> = {},
): Promise<Measured | string> {
  const source = join(checkout, 'src/exec/programs/inference/measure-model.ts');
  // An image has it as JavaScript.
  const program = existsSync(source) ? source : source.replace(/\.ts$/, '.js');
  try {
    const args = ['--disable-warning=ExperimentalWarning', program, graph, device, JSON.stringify(sizes)];
    const { stdout } = await run(process.execPath, args, { timeout: LONGEST_MS, maxBuffer: MOST_BYTES });
    return measured.parse(JSON.parse(stdout));
  } catch (error) {
    const { code, stderr = '' } = error as { readonly code?: unknown; readonly stderr?: string };
    if (code === ABSENT) return reasonIn(stderr);
    throw error;
  }
}

/** ONNX Runtime writes much before and behind the reason. @param stderr of the program */
export function reasonIn(stderr: string): string {
  const [, loading, calling] = /with error: ([^\n]+)|(CUDA failure \d+: [^;\n]+)/.exec(stderr) ?? [];
  return (loading ?? calling ?? stderr.trim().split('\n').at(-1) ?? '').trim();
}

/** The largest difference of two devices' results, as a share of the largest value of the result that it is in. */
export function differenceOf(values: Measured['values'], others: Measured['values']): number {
  const shares = values.map((result, i) => {
    const apart = result.map((value, at) => Math.abs(value - (others[i]?.[at] ?? Number.NaN)));
    const largest = result.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    // One that is no number stays none.
    return apart.reduce((most, each) => Math.max(most, each), 0) / Math.max(largest, Number.MIN_VALUE);
  });
  return shares.reduce((most, each) => Math.max(most, each), 0);
}
