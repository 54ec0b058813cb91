/** How much memory a process and its descendants hold. */
import { readdirSync, readFileSync } from 'node:fs';

/** Bytes on x86_64, and on aarch64 as distributions build it. */
const PAGE = 4096;

/**
 * Resident bytes, with shared pages counted in each process: /proc/[pid]/statm and task/[tid]/children (proc(5)). 0 once it has ended.
 * Read without leaving the thread: the kernel answers from memory, and it is asked after every conversion.
 */
export function residentBytesOf(pid: number): number {
  const pages = Number(read(`/proc/${pid}/statm`).split(' ')[1] ?? 0);
  const children = tasksOf(pid)
    .flatMap((task) => read(`/proc/${pid}/task/${task}/children`).split(' '))
    .filter(Boolean);
  return children.reduce((sum, child) => sum + residentBytesOf(Number(child)), pages * PAGE);
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
