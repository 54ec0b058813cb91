/** How a program of ours ends: with an answer as residents give, one line of JSON; with status 2 where it refuses its input. */
import { FileRefused } from '../data/values/value.ts';

export interface Told {
  readonly code: string;
  readonly message: string;
}

type Answer =
  | { readonly ok: true; readonly warnings: readonly Told[] }
  | ({ readonly ok: false } & Pick<FileRefused, 'reason' | 'details' | 'says' | 'misfit'>);
type Work = () => readonly Told[] | Promise<readonly Told[]>;

/** @param work returns warnings @param more returns further fields of the answer */
export async function answering(work: Work, more: () => object = () => ({})): Promise<void> {
  const answer = await answerFrom(work);
  process.stdout.write(`${JSON.stringify({ ...answer, ...more() })}\n`);
  if (!answer.ok) process.exitCode = 2;
}

/** @param work returns warnings */
export async function answerFrom(work: Work): Promise<Answer> {
  try {
    return { ok: true, warnings: await work() };
  } catch (error) {
    if (!(error instanceof FileRefused)) throw error;
    const { reason, details, says, misfit } = error;
    return { ok: false, reason, details, says, misfit };
  }
}

/** @param messages of what the result lacks, each once */
export const lossy = (messages: readonly string[]): Told[] => [...new Set(messages)].map((message) => ({ code: 'lossy', message }));
