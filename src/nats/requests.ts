/** Questions between processes that one of several answers: what is said is a text, and what goes wrong is a sentence. */
import { headers } from 'nats';
import type { Nats } from './connection.ts';

const FAILED = 'Filemill-Failed';
/** How long an answer may take, ms. */
const ANSWER_MS = 5_000;

/** Whoever answers could not, for a reason of its own: asking again would not help. */
export class Declined extends Error {
  override readonly name = 'Declined';
}

/** @returns the end of it */
export function answer({ core }: Nats, subject: string, respond: (text: string, subject: string) => Promise<string>): () => void {
  // One of all who answer takes each question.
  const subscription = core.subscribe(subject, {
    queue: 'answers',
    callback: (error, message) => {
      if (error !== null) return;
      void respond(message.string(), message.subject)
        .then(
          (text) => message.respond(text),
          (failure: unknown) => {
            const marks = headers();
            marks.set(FAILED, 'yes');
            message.respond((failure as Error).message, { headers: marks });
          },
        )
        .catch(() => {
          // The connection was closed meanwhile: whoever asked will ask again.
        });
    },
  });
  return () => {
    if (!subscription.isClosed()) subscription.unsubscribe();
  };
}

/** @param patienceMs for how long it is asked again while nobody answers; 0 once @throws Declined · Unavailable when nobody answered in time */
export async function question({ core, reach }: Nats, subject: string, text: string, patienceMs?: number): Promise<string> {
  const message = await reach(`to ask ${subject}`, () => core.request(subject, text, { timeout: ANSWER_MS }), patienceMs);
  if (message.headers?.get(FAILED) === 'yes') throw new Declined(message.string());
  return message.string();
}
