/** Processes of the bench itself: so that who sends, who works and who measures do not wait for each other. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface Child {
  readonly pid: number;
  /** Resolves with the next thing that it says. */
  ask<T>(wish: object): Promise<T>;
  end(): Promise<void>;
}

/** Resolves when it has said that it is ready. @param program beside this file @param given what it finds in its first argument, as JSON */
export async function startChild(program: string, given: object): Promise<Child> {
  const child = fork(join(import.meta.dirname, program), [JSON.stringify(given)], { serialization: 'advanced' });
  await heard(child, program);
  return {
    pid: child.pid ?? 0,
    async ask<T>(wish: object) {
      child.send(wish);
      return (await heard(child, program)) as T;
    },
    async end() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** @throws when it ends instead */
async function heard(child: ChildProcess, program: string): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const ended = (code: number | null) => reject(new Error(`${program} ended with ${code}`));
  child.once('message', resolve).once('exit', ended);
  return promise.finally(() => child.off('message', resolve).off('exit', ended));
}

/** Of the child: what it was given. */
export const given = <T>(): T => JSON.parse(process.argv[2] ?? '{}') as T;

/** Of the child: says that it is ready, and answers one wish after the other. */
export function answer<Wish>(respond: (wish: Wish) => Promise<object>): void {
  process.on('message', (wish: Wish) => void respond(wish).then((said) => process.send?.(said)));
  process.on('disconnect', () => process.exit());
  process.send?.({ ready: true });
}
