/** `filemill models bench`: measures time and memory of each installed model on each device, and how far the results of two are apart. */
import { join } from 'node:path';
import type { InstalledModel } from '../exec/models/installed.ts';
import { differenceOf, type Measured, measureGraph } from '../exec/models/measure.ts';

const CELLS = [30, 8, 12, 12, 12] as const;
const rowOf = (...cells: readonly string[]): string =>
  cells
    .map((cell, i) => cell.padEnd(CELLS[i] ?? 0))
    .join('')
    .trimEnd();

/** @param checkout absolute path of the project @param gpus how many are here */
export async function benchModels(found: readonly InstalledModel[], checkout: string, gpus: number): Promise<string> {
  if (found.length === 0) return 'no model is installed';
  const rows = [rowOf('graph', 'device', 'loaded in', 'one run', 'memory', 'differs by')];
  let refused: string | undefined;
  for (const { model, folder } of found)
    for (const { name } of model.files.filter((file) => file.name.endsWith('.onnx'))) {
      const graph = join(folder, name);
      const onCpu = await measureGraph(graph, 'cpu', checkout, model.measured);
      if (typeof onCpu === 'string') throw new Error(onCpu);
      rows.push(measuredRow(`${model.id}/${name}`, 'cpu', onCpu));
      if (gpus === 0 || refused !== undefined) continue;
      const onGpu = await measureGraph(graph, 'cuda', checkout, model.measured);
      if (typeof onGpu === 'string') refused = onGpu;
      else rows.push(measuredRow(`${model.id}/${name}`, 'cuda', onGpu, differenceOf(onCpu.values, onGpu.values)));
    }
  if (gpus === 0) rows.push('no NVIDIA GPU was found: only the processor was measured');
  if (refused !== undefined) rows.push(`a GPU was found, but ONNX Runtime cannot use it: ${refused}`);
  return rows.join('\n');
}

const measuredRow = (graph: string, device: string, { loadMs, runMs, memoryBytes }: Measured, difference?: number): string =>
  rowOf(
    graph,
    device,
    `${Math.round(loadMs)} ms`,
    `${Math.round(runMs)} ms`,
    `${Math.round(memoryBytes / 1e6)} MB`,
    difference === undefined ? '' : difference.toExponential(1),
  );
