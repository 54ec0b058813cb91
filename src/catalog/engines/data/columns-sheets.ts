/** Tables with typed columns to sheets and back: LibreOffice reads and writes the sheet, our program the columns. */
import { type Engine, everyPair } from '../../engine.ts';
import { AVRO } from '../../known-good.ts';
import { COLUMNS, columnsStep, TYPED } from '../../planning/columns.ts';
import { explainValues } from '../../planning/data.ts';
import { askOffice, explainOffice, OFFICE, OFFICE_LIMITS } from '../documents/libreoffice/ask.ts';

export const engine: Engine = {
  id: 'columns-sheets',
  name: 'LibreOffice',
  role: 'office',
  toolchains: ['office'],
  binaries: { ...OFFICE, columns: COLUMNS },
  conversions: [
    ...everyPair(TYPED, ['xlsx', 'ods'], { rank: 75 }),
    ...everyPair(['xlsx', 'xls', 'ods'], TYPED, { rank: 75, loses: ['formatting'] }),
  ],
  trials: [{ file: AVRO, target: 'ods', slow: true }],
  options: (source) => (TYPED.includes(source) ? [] : ['password', 'worksheet']),
  plan: (task) => {
    const { source, scratch, output } = task;
    if (!TYPED.includes(source)) {
      const { steps } = askOffice({ ...task, target: 'rows', output: scratch }, 'sheet');
      return { steps: [...steps, columnsStep({ ...task, source: 'rows' }, scratch, output)] };
    }
    const { steps } = askOffice({ ...task, source: 'fods', input: `${scratch}/table.fods`, passwordFile: undefined }, 'sheet');
    return { steps: [columnsStep({ ...task, target: 'fods' }, task.input, scratch), ...steps] };
  },
  explain: (text, code) => explainOffice(text) ?? explainValues(text, code),
  limits: OFFICE_LIMITS,
};
