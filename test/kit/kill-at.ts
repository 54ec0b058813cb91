/** Loaded into a server before its own code (`node --import`): ends it with SIGKILL at the very moment at which it logs a certain phase. */

/** `phase:n`: at the n-th line that says so. */
const [phase = '', count = '1'] = (process.env['KILL_AT'] ?? '').split(':');
const mark = phase === 'ended' ? '"the job ended"' : `"phase":"${phase}"`;
let left = Number(count);

// Writing to a pipe is synchronous: the line is out, and the last thing that the process ever does.
const write = process.stdout.write.bind(process.stdout) as (...args: readonly unknown[]) => boolean;
process.stdout.write = (...args: readonly unknown[]): boolean => {
  const written = write(...args);
  if (String(args[0]).includes(mark) && --left === 0) process.kill(process.pid, 'SIGKILL');
  return written;
};
