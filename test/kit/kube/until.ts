/** Waits for what another program will do in its own time. */
import { untilNextLook } from '../exec/looks.ts';

/** @param what completes "waited in vain for …" @throws after `withinMs` */
export async function until(what: string, holds: () => Promise<boolean> | boolean, withinMs = 60_000): Promise<void> {
  const begun = performance.now();
  while (!(await holds())) {
    if (performance.now() > begun + withinMs) throw new Error(`waited in vain for ${what}`);
    await untilNextLook(begun);
  }
}
