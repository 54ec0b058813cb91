/** How much memory a process and its descendants hold. */
import { readdir, readFile } from 'node:fs/promises';

/** Bytes on x86_64, and on aarch64 as distributions build it. */
const PAGE = 4096;

/** Resident bytes, with shared pages counted in each process: /proc/[pid]/statm and task/[tid]/children (proc(5)). 0 once it has ended. */
export async function residentBytesOf(pid: number): Promise<number> {
  const pages = Number((await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '')).split(' ')[1] ?? 0);
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')));
  const children = lists.join(' ').split(/\s+/).filter(Boolean).map(Number);
  const below = await Promise.all(children.map(residentBytesOf));
  return below.reduce((sum, bytes) => sum + bytes, pages * PAGE);
}
