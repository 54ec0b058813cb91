/** How long a graph takes here, and what memory: in a process that does nothing else. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);
const LONGEST_MS = 5 * 60_000;
/** Status of a device that is not there. */
const ABSENT = 3;

const measured = z.object({ loadMs: z.number(), runMs: z.number(), memoryBytes: z.number(), means: z.array(z.number()) });
/** `means` has a number for each result, by which two devices are compared. */
export type Measured = Readonly<z.infer<typeof measured>>;

/** @param graph absolute path @param device as ONNX Runtime calls it @returns undefined where it has no such device */
export async function measureGraph(graph: string, device: string, checkout: string): Promise<Measured | undefined> {
  const source = join(checkout, 'src/exec/programs/measure-model.ts');
  // An image has it as JavaScript.
  const program = existsSync(source) ? source : source.replace(/\.ts$/, '.js');
  try {
    const args = ['--disable-warning=ExperimentalWarning', program, graph, device];
    const { stdout } = await run(process.execPath, args, { timeout: LONGEST_MS });
    return measured.parse(JSON.parse(stdout));
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === ABSENT) return undefined;
    throw error;
  }
}
