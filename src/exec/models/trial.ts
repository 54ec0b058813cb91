/** Whether ONNX Runtime can compute on a device that was found: tried by a small graph, confined as converters are. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StepLimits } from '../../catalog/engine.ts';
import type { Launcher } from '../confine/confine.ts';
import type { DeviceAccess } from '../confine/policy.ts';
import type { Runtime } from '../confine/stage.ts';
import type { Slot } from '../files/workspace.ts';
import { float32s, Graph } from './conversion/onnx.ts';
import { reasonIn } from './measure.ts';

export interface TrialDeps {
  readonly launcher: Launcher;
  readonly runtime: Runtime;
  /** A slot that no conversion uses. */
  readonly spareSlot: Slot;
}

/** CUDA reads a gigabyte of libraries, and a GPU that is newer than its kernels has them compiled first. */
const LIMITS: StepLimits = {
  memoryBytes: 2 ** 31,
  cpuSeconds: 120,
  fileBytes: 2 ** 28,
  folderBytes: 2 ** 29,
  processes: 128,
  wallMs: 120_000,
};
const OPSET = 17;
/** Sides of a convolution, px: it needs cuDNN, as the models do. */
const [SIDE, KERNEL] = [8, 3];

/** @returns why it cannot; undefined where it can */
export async function tryDevices({ launcher, runtime, spareSlot: slot }: TrialDeps, devices: DeviceAccess): Promise<string | undefined> {
  const folder = await slot.makeFolder('device');
  const graph = join(folder, 'graph.onnx');
  await writeFile(graph, Buffer.concat(convolution()));
  slot.own(graph);
  const { ended, code, stderr } = await launcher.run(
    { folder, reads: runtime.reads, devices, calls: 'ai', uid: slot.uid, unixSockets: false, limits: LIMITS },
    { program: runtime.node, args: [runtime.pathOf('inference/measure-model.ts'), graph, 'cuda'] },
  );
  await slot.removeFolder(folder);
  if (ended === 'exit' && code === 0) return undefined;
  return reasonIn(stderr) || `its trial ended by ${ended}`;
}

function convolution(): readonly Uint8Array[] {
  const graph = new Graph();
  const input = graph.input({ name: 'input', type: 'float32', shape: [1, 1, SIDE, SIDE] });
  const weights = graph.constant(float32s(new Float32Array(KERNEL * KERNEL).fill(1), [1, 1, KERNEL, KERNEL]));
  const left = SIDE - KERNEL + 1;
  graph.output(graph.op('Conv', [input, weights]), { name: 'output', type: 'float32', shape: [1, 1, left, left] });
  return graph.model(OPSET);
}
