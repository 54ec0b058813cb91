/** What `make e2e` does, step by step, and what it found. */

let passed = 0;
/** How many steps have ended well. */
export const passedSteps = (): number => passed;

/** Says what it does, how long it took, and what `work` found. @throws what `work` throws: nothing follows a step that failed */
export async function step(what: string, work: () => Promise<string | undefined>): Promise<void> {
  process.stdout.write(`${what} … `);
  const start = performance.now();
  const note = (await work()) ?? '';
  passed++;
  console.log(`${((performance.now() - start) / 1000).toFixed(1)} s${note === '' ? '' : `: ${note}`}`);
}

export function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** @throws with the last answer, when it does not hold in time */
export async function eventually<T>(what: string, ask: () => Promise<T>, holds: (found: T) => boolean, ms = 90_000): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const found = await ask().catch((error: Error) => error);
    if (!(found instanceof Error) && holds(found)) return found;
    if (Date.now() > end)
      throw new Error(`${what}: not within ${ms / 1000} s; last: ${found instanceof Error ? found.message : JSON.stringify(found)}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
