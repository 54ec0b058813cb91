/** Loaded into a server before its own code (`node --import`): ends it with SIGKILL at the very moment at which it logs a certain phase. */
import fs from 'node:fs';

/** `phase:n`: at the n-th line that says so. */
const [phase = '', count = '1'] = (process.env['KILL_AT'] ?? '').split(':');
const mark = phase === 'ended' ? '"the job ended"' : `"phase":"${phase}"`;
let left = Number(count);

// The log is written with this very function, in one call for each line: the line is out, and it is the last thing that the process ever does.
const write = fs.writeSync as (...args: readonly unknown[]) => number;
const writeAndDie = (...args: readonly unknown[]): number => {
  const written = write(...args);
  if (args[0] === 1 && String(args[1]).includes(mark) && --left === 0) process.kill(process.pid, 'SIGKILL');
  return written;
};
fs.writeSync = writeAndDie;
