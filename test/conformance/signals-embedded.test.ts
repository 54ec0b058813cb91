/** The signals of one process, held to their suite. */
import { memorySignals } from '../../src/signals/memory.ts';
import { signalsSuite } from './signals.ts';

signalsSuite('in memory', async () => {
  const signals = memorySignals();
  return { here: signals, there: signals, settled: async () => {}, close: async () => {} };
});
