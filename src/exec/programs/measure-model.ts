/**
 * Runs a graph of ONNX on one device, with a made-up input, and prints one line of JSON: how long it took to load and to run, ms, the most memory that this
 * process had, bytes, and a number for each result, by which two devices are compared.
 *
 *   measure-model.ts GRAPH.onnx cpu|cuda
 *
 * Dimensions that the caller chooses are 1. Status 3 where the device is not there.
 */
import { openSession, Tensor } from './inference/session.ts';

/** The median of an odd number. */
const RUNS = 3;

const [graph = '', device = 'cpu'] = process.argv.slice(2);

const now = (): number => performance.now();
const before = now();
const session = await openSession(graph, device).catch((error: unknown) => {
  if (device === 'cpu') throw error;
  process.exitCode = 3;
  return undefined;
});
if (session !== undefined) {
  const loadMs = now() - before;
  const inputs = Object.fromEntries(
    session.inputMetadata.flatMap((input) => (input.isTensor ? [[input.name, madeUp(input.type, input.shape)] as const] : [])),
  );
  const times: number[] = [];
  let results: Awaited<ReturnType<typeof session.run>> = {};
  for (let run = 0; run < RUNS; run++) {
    const began = now();
    results = await session.run(inputs);
    times.push(now() - began);
  }
  const runMs = times.sort((a, b) => a - b)[Math.floor(RUNS / 2)] ?? 0;
  const means = session.outputNames.map((name) => meanOf(results[name]?.data as Float32Array));
  process.stdout.write(`${JSON.stringify({ loadMs, runMs, memoryBytes: process.resourceUsage().maxRSS * 1024, means })}\n`);
}

function madeUp(type: string, shape: readonly (number | string)[]): Tensor {
  const sizes = shape.map((size) => (typeof size === 'number' && size > 0 ? size : 1));
  const count = sizes.reduce((product, size) => product * size, 1);
  if (type === 'int64') return new Tensor('int64', new BigInt64Array(count).fill(1n), sizes);
  return new Tensor(
    'float32',
    Float32Array.from({ length: count }, (_, i) => Math.sin(i / 7)),
    sizes,
  );
}

function meanOf(values: Float32Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}
