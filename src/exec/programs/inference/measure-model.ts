/**
 * Runs a graph of ONNX on one device, with a made-up input, and prints one line of JSON: how long it took to load and to run, ms, the most memory that this
 * process had, bytes, and values of each result, by which two devices are compared.
 *
 *   measure-model.ts GRAPH.onnx cpu|cuda [SIZES]
 *
 * SIZES is an object of JSON: those of dimensions that the caller chooses, by name; the others are 1. Status 3 where the device cannot be used; the last line of standard error says why.
 */
import { CUDA, openSessionOn, Tensor } from './session.ts';
import { floatsIn, floatTensor } from './tensors.ts';

/** How often the graph is run. The median is printed, so the number is odd. */
const RUNS = 3;
/** Values of a result that are printed at most, spread over it. */
const MOST_VALUES = 4096;

const [graph = '', device = 'cpu', given = '{}'] = process.argv.slice(2);
const chosen = JSON.parse(given) as Readonly<Record<string, number>>;

const now = (): number => performance.now();

async function measure(): Promise<object> {
  const before = now();
  const session = await openSessionOn(device === 'cuda' ? CUDA : device, graph);
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
  const values = session.outputNames.map((name) => someOf(floatsIn(results[name])));
  return { loadMs, runMs, memoryBytes: process.resourceUsage().maxRSS * 1024, values };
}

function madeUp(type: string, shape: readonly (number | string)[]): Tensor {
  const sizes = shape.map((size) => (typeof size === 'number' ? size : (chosen[size] ?? 1)));
  const count = sizes.reduce((product, size) => product * size, 1);
  if (type === 'uint8') return new Tensor('uint8', new Uint8Array(count).fill(255), sizes);
  if (type === 'int64') return new Tensor('int64', new BigInt64Array(count).fill(1n), sizes);
  return floatTensor(
    type,
    Float32Array.from({ length: count }, (_, i) => Math.sin(i / 7)),
    sizes,
  );
}

function someOf(values: Float32Array): readonly number[] {
  const count = Math.min(values.length, MOST_VALUES);
  return Array.from({ length: count }, (_, i) => values[Math.floor((i * values.length) / count)] ?? 0);
}

try {
  process.stdout.write(`${JSON.stringify(await measure())}\n`);
} catch (error) {
  if (device === 'cpu') throw error;
  process.exitCode = 3;
  process.stderr.write(`${(error as Error).message.replaceAll('\n', ' ')}\n`);
}
