/** The lines of one conversation with a program that forks a process for each, as `native/vips-server/server.c` reads and prints them. */
import type { Conversation, ProgramAnswer } from '../../catalog/engine.ts';

/** Share of the time limit after which the program ends a process that hangs: before we would end the program. */
const OF_TIME = 0.95;
const MOST_LINES = 5_000;

export interface Lines {
  /** What is written first. */
  readonly opening: string;
  /** What is written in reply to a line of the process. @throws what the conversation throws */
  readonly reply: (said: string) => string;
  /** @param ended what the program says of the end of the process */
  readonly answer: (ended: ProgramAnswer) => ProgramAnswer;
}

/** @param folder the only one that the process may write to, absolute */
export function converse(conversation: Conversation, folder: string, wallMs: number): Lines {
  let answer: ProgramAnswer | undefined;
  let lines = 0;
  const step = ({ done, value }: IteratorResult<string, ProgramAnswer>): string => {
    if (!done && ++lines < MOST_LINES) return `${value}\n`;
    answer = done ? value : { ok: false, reason: 'internal', words: 'the conversation has no end' };
    return 'end\n';
  };
  return {
    opening: `begin ${Math.ceil(wallMs * OF_TIME)} ${encodeURI(folder)}\n${step(conversation.next())}`,
    reply: (said) => step(conversation.next(said)),
    // A process that died before the end was not heard out.
    answer: (ended) => (ended.ok ? (answer ?? { ok: false, reason: 'internal', words: 'the program ended the conversation' }) : ended),
  };
}
