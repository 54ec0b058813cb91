/** Waits for what another program will do in its own time. */
import { setTimeout as pause } from 'node:timers/promises';

/** @param what completes "waited in vain for …" @throws after `withinMs` */
export async function until(what: string, holds: () => Promise<boolean> | boolean, withinMs = 60_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain for ${what}`);
    await pause(20);
  }
}
