/** Calls that need not wait for each other, a few at a time: one after the other, a distant API server would set the pace of a pool. */

const AT_ONCE = 8;

/** Each begins in order. After a failure no more begin, and those under way end first. @throws the first failure */
export async function together<T>(items: readonly T[], call: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const failures: unknown[] = [];
  const one = async () => {
    for (const item of left) {
      if (failures.length > 0) return;
      await call(item).catch((error: unknown) => void failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  if (failures.length > 0) throw failures[0];
}
