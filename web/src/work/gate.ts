/**
 * Lets so many in at a time, first come, first served. One that is cancelled while it waits is out of the queue at once.
 * @throws the reason of `cancel`
 */
export function gate(most: number): <Result>(cancel: AbortSignal, work: () => Promise<Result>) => Promise<Result> {
  let inside = 0;
  const waiting: (() => void)[] = [];
  const turn = (cancel: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const enter = () => {
        cancel.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        waiting.splice(waiting.indexOf(enter), 1);
        reject(cancel.reason as Error);
      };
      waiting.push(enter);
      cancel.addEventListener('abort', leave, { once: true });
    });
  return async (cancel, work) => {
    cancel.throwIfAborted();
    while (inside >= most) await turn(cancel);
    inside++;
    try {
      cancel.throwIfAborted();
      return await work();
    } finally {
      inside--;
      waiting.shift()?.();
    }
  };
}
