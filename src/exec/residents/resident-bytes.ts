/** What a process and its descendants hold in memory. */
import { readdirSync, readFileSync } from 'node:fs';

/**
 * Resident bytes, with shared pages counted in each process; 0 once it has ended. From /proc/[pid]/status and
 * task/[tid]/children (proc(5)). Synchronous, since the kernel answers from memory, and this runs after every conversion.
 */
export function residentBytesOf(pid: number): number {
  const bytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
  const children = tasksOf(pid)
    .flatMap((task) => read(`/proc/${pid}/task/${task}/children`).split(' '))
    .filter(Boolean);
  return children.reduce((sum, child) => sum + residentBytesOf(Number(child)), bytes);
}

function tasksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
