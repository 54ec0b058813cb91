/** Data between its syntaxes, by a program of our own around well-known libraries. */
import { type Engine, everyPair } from '../../engine.ts';
import { JSON_DATA } from '../../known-good.ts';
import { explainValues, VALUES, valuesStep } from '../../planning/data.ts';

const ROWS = ['csv', 'tsv'];
/** Values of any shape, with types. */
const TREES = ['json', 'jsonl', 'yaml', 'toml'];

export const engine: Engine = {
  id: 'data',
  name: 'filemill data',
  role: 'markup',
  toolchains: ['office'],
  binaries: { values: VALUES },
  conversions: [
    ...everyPair([...ROWS, ...TREES, 'dbf'], TREES, { rank: 85 }),
    ...everyPair(TREES, ROWS, { rank: 75 }),
    ...everyPair(['csv'], ['tsv'], { rank: 85 }),
    ...everyPair(ROWS, ['md'], { rank: 85 }),
    ...everyPair(['dbf'], ROWS, { rank: 85, loses: ['types of columns'] }),
    ...everyPair([...ROWS, ...TREES, 'dbf'], ['xml'], { rank: 70, loses: ['types of values (XML has only text)'] }),
    ...everyPair(['xml'], [...TREES, ...ROWS], { rank: 70, loses: ['comments, and the order of elements that have different names'] }),
  ],
  trials: [{ file: JSON_DATA, target: 'yaml' }],
  options: (source) => (ROWS.includes(source) ? ['csv_types', 'charset'] : ['charset']),
  plan: (task) => ({ steps: [valuesStep(task, task.input, `${task.output}/data.${task.target}`)] }),
  explain: explainValues,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};
