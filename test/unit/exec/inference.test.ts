/** ONNX Runtime: it sends nothing, it computes on the processor where a GPU cannot be used, and two devices are compared by all their results. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/catalog/engine.ts';
import { benchModels } from '../../../src/cli/bench-models.ts';
import type { Slot } from '../../../src/exec/files/workspace.ts';
import { float32s, Graph } from '../../../src/exec/models/conversion/onnx.ts';
import type { InstalledModel } from '../../../src/exec/models/installed.ts';
import { listedModels } from '../../../src/exec/models/manifest.gen.ts';
import { differenceOf, measureGraph, reasonIn } from '../../../src/exec/models/measure.ts';
import type { Residents } from '../../../src/exec/residents/residents.ts';
import type { Toolbox } from '../../../src/exec/toolbox.ts';
import { createStepper, type StepRun } from '../../../src/worker/conversion/run-step.ts';

const run = promisify(execFile);
const [MEASURE, SESSION] = ['inference/measure-model', 'inference/session'].map((name) => resolve(`src/exec/programs/${name}.ts`));

let folder: string;
let graph: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'filemill-inference-'));
  graph = join(folder, 'graph.onnx');
  const doubling = new Graph();
  const input = doubling.input({ name: 'input', type: 'float32', shape: [1, 'count'] });
  const two = doubling.constant(float32s(Float32Array.of(2), [1]));
  doubling.output(doubling.op('Mul', [input, two]), { name: 'output', type: 'float32', shape: [1, 'count'] });
  writeFileSync(graph, Buffer.concat(doubling.model(17)));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('leaves no identifier of the machine and no log of events behind', async () => {
  const home = mkdtempSync(join(folder, 'home-'));
  const args = ['--disable-warning=ExperimentalWarning', MEASURE ?? '', graph, 'cpu'];
  await run(process.execPath, args, { env: { HOME: home, TMPDIR: home } });
  expect(readdirSync(home, { recursive: true })).toEqual([]);
});

it('computes on the processor where a GPU cannot be used, says why once, and tries it again for the next request', async () => {
  const script = `
    import { openSession, takeRefusal, Tensor } from '${SESSION}';
    for (let request = 0; request < 2; request++) {
      const session = await openSession('${graph}');
      const { output } = await session.run({ input: new Tensor('float32', Float32Array.of(1, 2, 3, 4), [1, 4]) });
      console.log(output.data.join(), takeRefusal() !== undefined, takeRefusal());
    }`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script];
  const { stdout } = await run(process.execPath, args, { env: { ...process.env, CUDA_DEVICES: '1' } });
  expect(stdout).toBe('2,4,6,8 true undefined\n'.repeat(2));
});

it('reads a file once, however often it is asked for it', async () => {
  const script = `
    import { openSession } from '${SESSION}';
    let read = 0;
    const count = (file) => { read++; return file; };
    for (let request = 0; request < 3; request++) await openSession('${graph}', count);
    console.log(read);`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script];
  expect((await run(process.execPath, args)).stdout).toBe('1\n');
});

it('is reported to the worker with the answer', async () => {
  const told: string[] = [];
  const stepper = createStepper({
    toolbox: { resolve: () => ({ egress: false }) } as unknown as Toolbox,
    slot: {} as Slot,
    residents: { ask: async () => ({ ok: true, deviceRefused: 'no room' }) } as unknown as Residents,
    judge: { reasonOf: async () => undefined },
    onDeviceRefused: (why) => told.push(why),
  });
  const task = { input: '/job/in', output: '/job/out', passwordFile: undefined };
  const engine = { binaries: {} } as Engine;
  const step = { ask: 'x', request: {}, otherwise: { run: 'x', args: [] } };
  await stepper.runStep(step, { engine, task } as StepRun & { task: typeof task });
  expect(told).toEqual(['no room']);
});

describe('the difference of two devices', () => {
  it.each([
    ['is nothing where all values are equal', [[1, -2], [3]], [[1, -2], [3]], 0],
    ['is the largest of all results, as a share of the largest value there', [[1, -2], [100]], [[1.5, -2], [101]], 0.25],
    ['is found in any value', [[0, 0, 8, 0]], [[0, 0, 8, 2]], 0.25],
  ])('%s', (_, one, other, difference) => expect(differenceOf(one, other)).toBe(difference));

  it('is no number where a device computed none, or fewer', () => {
    expect(differenceOf([[1, 2]], [[1, Number.NaN]])).toBeNaN();
    expect(differenceOf([[1, 2]], [[1]])).toBeNaN();
  });
});

it.each([
  [
    'a library',
    '[E:onnxruntime] Failed to load library x.so with error: libcuda.so.1: cannot open\n[m\nFailed',
    'libcuda.so.1: cannot open',
  ],
  ['a device', 'cuda_call.cc:146 CudaCall() CUDA failure 100: no device ; GPU=-1 ; hostname=x ; file=y', 'CUDA failure 100: no device'],
  ['what is unknown', 'a line\nanother\n', 'another'],
])('the reason why a device cannot be used names %s', (_, stderr, reason) => expect(reasonIn(stderr)).toBe(reason));

describe('filemill models bench', () => {
  const tiny = (): InstalledModel => {
    const [model] = listedModels;
    if (model === undefined) throw new Error('a manifest without models');
    return { model: { ...model, id: 'tiny', files: [{ name: 'graph.onnx', bytes: 1, sha256: '' }] }, state: 'whole', folder };
  };

  it('measures on the processor, and says that there is no GPU', async () => {
    const [head, row, ...more] = (await benchModels([tiny()], process.cwd(), 0)).split('\n');
    expect(head).toMatch(/^graph +device +loaded in +one run +memory +differs by$/);
    expect(row).toMatch(/^tiny\/graph\.onnx +cpu +\d+ ms +\d+ ms +\d+ MB$/);
    expect(more).toEqual(['no NVIDIA GPU was found: only the processor was measured']);
  });

  it('says why a GPU that is here was not measured', async () => {
    const lines = (await benchModels([tiny()], process.cwd(), 1)).split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[2]).toMatch(/^a GPU was found, but ONNX Runtime cannot use it: .*libonnxruntime_providers_shared\.so: cannot open/);
  });

  it('has values of each result to compare, of the requested size', async () => {
    const values = [0, 1, 2, 3].map((i) => 2 * Math.fround(Math.sin(i / 7)));
    expect(await measureGraph(graph, 'cpu', process.cwd(), { count: 4 })).toMatchObject({ values: [values] });
    expect(await measureGraph(graph, 'cpu', process.cwd())).toMatchObject({ values: [[0]] });
  });
});
