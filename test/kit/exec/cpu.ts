/** CPU time by proc(5): of this process, and of all that it has started and seen end. `make test` sums it by folder. */
import { appendFileSync, readFileSync } from 'node:fs';

/** Clock ticks in a second: sysconf(_SC_CLK_TCK) of Linux, whatever the processor. */
const TICKS = 100;

/** Seconds. */
export interface CpuTime {
  readonly own: number;
  readonly children: number;
}

/** @param pid of a process that runs; by default this one */
export function cpuTime(pid: number | 'self' = 'self'): CpuTime {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name before may contain spaces. From here on: state, ten fields, utime, stime, cutime, cstime.
  const [utime = 0, stime = 0, cutime = 0, cstime = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number);
  return { own: (utime + stime) / TICKS, children: (cutime + cstime) / TICKS };
}

/** Adds a line to the list that scripts/test.ts sums, if it runs this. @param what a test file from the top of the checkout, or what it shares with others */
export function noteCpu(what: string, seconds: number): void {
  const list = process.env['TEST_CPU'] ?? '';
  if (list !== '') appendFileSync(list, `${seconds.toFixed(1)} ${what}\n`);
}
