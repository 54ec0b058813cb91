/** Several streams of things as one: each is asked for one ahead, and what is there first goes first. */

export async function* asTheyCome<T>(sources: readonly AsyncGenerator<T>[]): AsyncGenerator<T> {
  const ahead = new Map<AsyncGenerator<T>, Promise<{ readonly source: AsyncGenerator<T>; readonly next: IteratorResult<T> }>>();
  const ask = (source: AsyncGenerator<T>) => {
    const asked = source.next().then((next) => ({ source, next }));
    // Left early, nobody waits for it any more.
    asked.catch(() => {});
    ahead.set(source, asked);
  };
  for (const source of sources) ask(source);
  while (ahead.size > 0) {
    const { source, next } = await Promise.race(ahead.values());
    if (next.done) {
      ahead.delete(source);
    } else {
      ask(source);
      yield next.value;
    }
  }
}
