/** How much memory a process and all its descendants take, looked at from outside (proc(5)). */
import { readdirSync, readFileSync } from 'node:fs';

const PAGE_BYTES = 4096;
const LOOK_MS = 100;

export interface Peak {
  /** Largest resident sizes seen; pages that processes share count once for each. */
  stop(): { readonly serverBytes: number; readonly treeBytes: number };
}

export function peakOf(pid: number): Peak {
  let serverBytes = 0;
  let treeBytes = 0;
  const timer = setInterval(() => {
    const processes = readAll();
    serverBytes = Math.max(serverBytes, processes.get(pid)?.bytes ?? 0);
    treeBytes = Math.max(treeBytes, sum(pid, processes));
  }, LOOK_MS);
  return {
    stop() {
      clearInterval(timer);
      return { serverBytes, treeBytes };
    },
  };
}

type Seen = ReadonlyMap<number, { readonly parent: number; readonly bytes: number }>;

function readAll(): Seen {
  const seen = new Map<number, { parent: number; bytes: number }>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      seen.set(Number(name), { parent: Number(fields[1]), bytes: Number(fields[21]) * PAGE_BYTES });
    } catch {
      // It ended between the two looks.
    }
  }
  return seen;
}

function sum(pid: number, processes: Seen): number {
  const own = processes.get(pid)?.bytes ?? 0;
  return [...processes].filter(([, { parent }]) => parent === pid).reduce((total, [child]) => total + sum(child, processes), own);
}
