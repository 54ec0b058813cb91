/** How much memory a process and its descendants hold. */
import { readdirSync, readFileSync } from 'node:fs';

/**
 * Resident bytes, with shared pages counted in each process: /proc/[pid]/status, whatever the size of a page, and task/[tid]/children (proc(5)). 0 once it has ended.
 * Read without leaving the thread: the kernel answers from memory, and it is asked after every conversion.
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
