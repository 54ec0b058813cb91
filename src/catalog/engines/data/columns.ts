/** Tables with typed columns, by a program of our own around Arrow's libraries and SQLite. */
import { type Engine, everyPair } from '../../engine.ts';
import { AVRO, JSON_DATA } from '../../known-good.ts';
import { COLUMNS, columnsStep, TYPED } from '../../planning/columns.ts';
import { explainValues } from '../../planning/data.ts';

const ROWS = ['csv', 'tsv'];
const RECORDS = ['json', 'jsonl'];

export const engine: Engine = {
  id: 'columns',
  name: 'filemill columns',
  role: 'markup',
  toolchains: ['office'],
  binaries: { columns: COLUMNS },
  conversions: [
    ...everyPair(TYPED, TYPED, { rank: 90 }),
    ...everyPair(TYPED, ROWS, { rank: 80, loses: ['types of columns'] }),
    ...everyPair(TYPED, RECORDS, { rank: 80 }),
    ...everyPair([...ROWS, ...RECORDS], TYPED, { rank: 80 }),
  ],
  trials: [
    { file: JSON_DATA, target: 'parquet' },
    { file: AVRO, target: 'sqlite' },
  ],
  options: (source) => (TYPED.includes(source) ? [] : ROWS.includes(source) ? ['csv_types', 'charset'] : ['charset']),
  plan: (task) => ({ steps: [columnsStep(task, task.input, task.output)] }),
  explain: explainValues,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};
