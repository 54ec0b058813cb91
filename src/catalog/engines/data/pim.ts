/** Address cards and calendars, by a program of our own around a well-known library. */
import { type Engine, everyPair } from '../../engine.ts';
import { VCARD } from '../../known-good.ts';
import { explainPim, PIM, pimStep } from '../../planning/pim.ts';

const CARDS_LOSE = ['photos', 'fields that programs added'];
const CALENDARS_LOSE = ['alarms and rules of time zones', 'fields that programs added'];

export const engine: Engine = {
  id: 'pim',
  name: 'filemill pim',
  role: 'markup',
  toolchains: ['office'],
  binaries: { pim: PIM },
  conversions: [
    ...everyPair(['vcf'], ['csv', 'json', 'txt'], { rank: 85, loses: CARDS_LOSE }),
    ...everyPair(['vcf'], ['html'], { rank: 85, loses: ['fields that programs added'] }),
    ...everyPair(['ics'], ['csv', 'json', 'html', 'txt'], { rank: 85, loses: CALENDARS_LOSE }),
  ],
  trials: [{ file: VCARD, target: 'json' }],
  options: () => ['charset'],
  plan: (task) => ({ steps: [pimStep(task, `${task.output}/out.${task.target}`)] }),
  explain: explainPim,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};
