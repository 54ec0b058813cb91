/** How a program of ours ends: with an answer as residents give, one line of JSON; with status 2 where it refuses its input. */
import { Unfit } from './value.ts';

export interface Told {
  readonly code: string;
  readonly message: string;
}

/** @param work returns warnings */
export async function answering(work: () => readonly Told[] | Promise<readonly Told[]>): Promise<void> {
  const answer = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
  try {
    answer({ ok: true, warnings: await work() });
  } catch (error) {
    if (!(error instanceof Unfit)) throw error;
    answer({ ok: false, reason: error.reason, details: error.details, says: error.says });
    process.exitCode = 2;
  }
}

/** @param messages of what the result lacks, each once */
export const lossy = (messages: readonly string[]): Told[] => [...new Set(messages)].map((message) => ({ code: 'lossy', message }));
