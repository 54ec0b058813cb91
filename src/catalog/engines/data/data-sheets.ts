/** Data to sheets and back: LibreOffice reads and writes the sheet, our program the data; rows of cells with their types are between them. */
import { type Engine, everyPair } from '../../engine.ts';
import { JSON_DATA } from '../../known-good.ts';
import { explainValues, VALUES, valuesStep } from '../../planning/data.ts';
import { askOffice, explainOffice, OFFICE, OFFICE_LIMITS } from '../documents/libreoffice/ask.ts';

const DATA = ['json', 'jsonl', 'yaml', 'toml', 'xml', 'dbf'];

export const engine: Engine = {
  id: 'data-sheets',
  name: 'LibreOffice',
  role: 'office',
  toolchains: ['office'],
  binaries: { ...OFFICE, values: VALUES },
  conversions: [
    ...everyPair(DATA, ['xlsx', 'ods'], { rank: 70 }),
    ...everyPair(['xlsx', 'xls', 'ods'], ['json', 'yaml', 'xml'], { rank: 75, loses: ['formatting'] }),
    ...everyPair(['xlsx', 'xls', 'ods', 'fods'], ['md'], { rank: 75, loses: ['formatting'] }),
  ],
  trials: [{ file: JSON_DATA, target: 'ods', slow: true }],
  options: (source) => (DATA.includes(source) ? ['charset'] : ['password', 'worksheet']),
  plan: (task) => {
    const { source, target, scratch, output } = task;
    if (!DATA.includes(source)) {
      // In Markdown as cells look, elsewhere as they are.
      const between = target === 'md' ? 'csv' : 'rows';
      const { steps } = askOffice({ ...task, target: between, output: scratch }, 'sheet', target === 'md' ? { marks: true } : {});
      return {
        steps: [
          ...steps,
          valuesStep({ ...task, source: between, options: { ...task.options, charset: undefined } }, scratch, `${output}/data.${target}`),
        ],
      };
    }
    const table = `${scratch}/table.fods`;
    const { steps } = askOffice({ ...task, source: 'fods', input: table, passwordFile: undefined }, 'sheet');
    return { steps: [valuesStep({ ...task, target: 'fods' }, task.input, table), ...steps] };
  },
  explain: (text, code) => explainOffice(text) ?? explainValues(text, code),
  limits: OFFICE_LIMITS,
};
