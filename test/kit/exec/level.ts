/** What a process holds at the moment, and whether it comes back to what it held before. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

export type Held = Readonly<Record<string, number>>;

/** How long whatever ends by itself may take, ms: connections kept open, folders being removed, and a wait for a job, 20 s. */
const PATIENCE_MS = 30_000;

/** Open descriptors of a process by kind, as proc(5) shows them. */
export async function descriptorsOf(pid: number | 'self' = 'self'): Promise<{ readonly files: number; readonly sockets: number }> {
  const names = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
  return {
    files: targets.filter((target) => target.startsWith('/') && !target.startsWith('/dev/') && !target.startsWith('/proc/')).length,
    sockets: targets.filter((target) => target.startsWith('socket:')).length,
  };
}

/** Timers of this process that keep it alive. */
export const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

/** Processes below this one, at any depth. */
export async function childrenOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const children = text.split(' ').filter(Boolean).map(Number);
  const below = await Promise.all(children.map(childrenOf));
  return below.reduce((sum, count) => sum + count, children.length);
}

/** Waits until nothing is held beyond what was. @returns what still is, and how much more; empty where all is level */
export async function excess(before: Held, now: () => Promise<Held>): Promise<Held> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const held = Object.entries(await now());
    const more = held.map(([what, count]) => [what, count - (before[what] ?? 0)] as const).filter(([, count]) => count > 0);
    if (more.length === 0 || performance.now() > until) return Object.fromEntries(more);
    await pause(50);
  }
}
