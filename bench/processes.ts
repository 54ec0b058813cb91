/** Processes of the machine, looked at from outside (proc(5)). */
import { readdirSync, readFileSync } from 'node:fs';

/** Of proc_pid_stat(5), counted from what stands behind the command: 0 is the state, 1 the parent. @throws when the process is gone */
export const statOf = (pid: number | string): readonly number[] =>
  readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
    .map(Number);

/** @param figure of one process, from its fields @returns that of the process, and the sum over it and its descendants; 0 when it is gone */
export function treeOf(pid: number, figure: (fields: readonly number[]) => number): { readonly own: number; readonly tree: number } {
  const children = new Map<number, number[]>();
  const figures = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = statOf(name);
      const parent = fields[1] ?? 0;
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
      figures.set(Number(name), figure(fields));
    } catch {
      // It ended between the two looks.
    }
  }
  const sum = (of: number): number => (children.get(of) ?? []).reduce((total, child) => total + sum(child), figures.get(of) ?? 0);
  return { own: figures.get(pid) ?? 0, tree: sum(pid) };
}
