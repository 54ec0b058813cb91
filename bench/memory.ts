/** How much memory a process and all its descendants take, looked at from outside (proc(5)). */
import { treeOf } from './processes.ts';

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
    const { own, tree } = treeOf(pid, (fields) => (fields[21] ?? 0) * PAGE_BYTES);
    serverBytes = Math.max(serverBytes, own);
    treeBytes = Math.max(treeBytes, tree);
  }, LOOK_MS);
  return {
    stop() {
      clearInterval(timer);
      return { serverBytes, treeBytes };
    },
  };
}
