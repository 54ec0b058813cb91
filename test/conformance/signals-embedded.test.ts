/** The signals of one process, held to their suite. */
import { expect, it } from 'vitest';
import { memorySignals } from '../../src/signals/memory.ts';
import { signalsSuite } from './signals.ts';

signalsSuite('in memory', async () => {
  const signals = memorySignals();
  return { here: signals, there: signals, settled: async () => {}, close: async () => {} };
});

it('forget a cancelled job once its worker was asked to stop', () => {
  const signals = memorySignals();
  const unsubscribe = signals.onCancel('a', () => signals.progress('a', 70));
  signals.progress('a', 50);
  signals.cancel('a');
  expect(signals.lastProgress('a')).toBeUndefined();
  unsubscribe();
});
