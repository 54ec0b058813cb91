/** Loaded into a service before its own code (`node --import`): at each SIGUSR2 the next fault that FAULTS names, separated by commas. */
import childProcess from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const faults = (process.env['FAULTS'] ?? '').split(',');
/** The fault of starting a process, for as long as it lasts. */
let starting = process.env['FAULT_AT_START'] ?? '';

process.on('SIGUSR2', () => {
  const fault = faults.shift() ?? '';
  starting = fault;
  console.error(`fault: ${fault}`);
  if (fault === 'rejection') void Promise.reject(new Error('an injected rejection'));
  if (fault === 'exception')
    setImmediate(() => {
      throw new Error('an injected exception');
    });
});

const { spawn } = childProcess;

/** The system's own refusal: no descriptor is left at that moment. */
function withoutDescriptors<T>(work: () => T): T {
  const held: number[] = [];
  try {
    for (;;) held.push(openSync('/dev/null', 'r'));
  } catch {
    // All are taken now.
  }
  try {
    return work();
  } finally {
    for (const descriptor of held) closeSync(descriptor);
  }
}

const faulty = (...args: Parameters<typeof spawn>): ReturnType<typeof spawn> => {
  if (starting === 'EMFILE') return withoutDescriptors(() => spawn(...args));
  if (starting === 'ENOMEM') throw Object.assign(new Error('spawn ENOMEM'), { code: 'ENOMEM' });
  return spawn(...args);
};
Object.assign(childProcess, { spawn: faulty });
syncBuiltinESMExports();
