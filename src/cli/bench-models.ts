/** `filemill models bench`: measures time and memory of each installed model on each device. */
import { join } from 'node:path';
import type { InstalledModel } from '../exec/models/installed.ts';
import { type Measured, measureGraph } from '../exec/models/measure.ts';

/** The first is always there; the others are compared with it. */
const DEVICES = ['cpu', 'cuda'] as const;

/** @param checkout absolute path of the project */
export async function benchModels(found: readonly InstalledModel[], checkout: string): Promise<string> {
  const lines: string[] = [];
  const absent = new Set<string>();
  for (const { model, folder } of found)
    for (const { name } of model.files.filter((file) => file.name.endsWith('.onnx'))) {
      let first: Measured | undefined;
      for (const device of DEVICES) {
        if (absent.has(device)) continue;
        const measured = await measureGraph(join(folder, name), device, checkout);
        if (measured === undefined) absent.add(device);
        else lines.push(lineOf(`${model.id}/${name}`, device, measured, first));
        first ??= measured;
      }
    }
  if (lines.length === 0) return 'no model is installed';
  const without = absent.size === 0 ? [] : [`not here, and so not measured: ${[...absent].join(', ')}`];
  return [...lines, ...without].join('\n');
}

function lineOf(graph: string, device: string, { loadMs, runMs, memoryBytes, means }: Measured, first: Measured | undefined): string {
  const apart = first === undefined ? '' : `, results differ by ${differenceOf(means, first.means).toExponential(1)} of themselves`;
  const memory = `${Math.round(memoryBytes / 1e6)} MB`;
  return `${graph.padEnd(28)} ${device}: loaded in ${Math.round(loadMs)} ms, one run ${Math.round(runMs)} ms, ${memory}${apart}`;
}

/** The largest of the results' differences, relative. */
const differenceOf = (some: readonly number[], others: readonly number[]): number =>
  Math.max(0, ...some.map((value, i) => Math.abs(value - (others[i] ?? 0)) / Math.max(1e-9, Math.abs(others[i] ?? 0))));
