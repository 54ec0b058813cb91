/** Address cards and calendars to sheets: our program makes a table of them, and LibreOffice the sheet. */
import { type Engine, everyPair } from '../../engine.ts';
import { VCARD } from '../../known-good.ts';
import { explainPim, PIM, pimStep } from '../../planning/pim.ts';
import { askOffice, explainOffice, OFFICE, OFFICE_LIMITS } from '../documents/libreoffice/ask.ts';

export const engine: Engine = {
  id: 'pim-sheets',
  name: 'LibreOffice',
  role: 'office',
  toolchains: ['office'],
  binaries: { ...OFFICE, pim: PIM },
  conversions: [
    ...everyPair(['vcf'], ['xlsx', 'ods'], { rank: 75, loses: ['photos', 'fields that programs added'] }),
    ...everyPair(['ics'], ['xlsx', 'ods'], { rank: 75, loses: ['alarms and rules of time zones', 'fields that programs added'] }),
  ],
  trials: [{ file: VCARD, target: 'ods', slow: true }],
  options: () => ['charset'],
  plan: (task) => {
    const table = `${task.scratch}/table.csv`;
    const { steps } = askOffice({ ...task, source: 'csv', input: table, options: {}, passwordFile: undefined }, 'sheet');
    return { steps: [pimStep({ ...task, target: 'csv' }, table), ...steps] };
  },
  explain: (text, code) => explainOffice(text) ?? explainPim(text, code),
  limits: OFFICE_LIMITS,
};
