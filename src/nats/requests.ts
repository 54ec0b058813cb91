/** Questions between processes that one of several answers: what is said is a text, and a refusal has a code for programs and a sentence for logs. */
import { setTimeout as pause } from 'node:timers/promises';
import { headers, type Msg } from 'nats';
import type { Nats } from './connection.ts';
import { isTransient, Unavailable } from './unavailable.ts';

const FAILED = 'Filemill-Failed';
/** Of an answer: the code of a refusal, and whether another may answer otherwise. */
const CODE = 'Filemill-Code';
const TRANSIENT = 'Filemill-Transient';
/** Of a question: whoever asks knows the two above, and asks another where one cannot answer. */
const ASKS_ON = 'Filemill-Asks-On';
/** How long an answer may take, ms. */
const ANSWER_MS = 5_000;

/** Whoever was asked did not do it. */
export class Refused extends Error {
  override readonly name = 'Refused';
  /** For programs; empty where it was none of the refusals that the answerer knows. */
  readonly code: string;
  /** Whether another answerer, or the same one later, may do it. */
  readonly isTransient: boolean;
  constructor(message: string, code = '', isTransient = true, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.isTransient = isTransient;
  }
}

/** @returns unsubscribe */
export function answer({ core }: Nats, subject: string, respond: (text: string, subject: string) => Promise<string>): () => void {
  // One of all who answer takes each question.
  const subscription = core.subscribe(subject, {
    queue: 'answers',
    callback: (error, message) => {
      if (error !== null) return;
      void respond(message.string(), message.subject)
        .then(
          (text) => message.respond(text),
          (failure: unknown) => refuse(message, failure),
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

/** How long all together have, and how long after one answer the next may take, ms. */
const ALL_MS = 1_000;
const NEXT_MS = 250;

/** Answers beside all others who do, where `askAll` asks. @returns unsubscribe */
export function answerAll({ core }: Nats, subject: string, respond: () => string): () => void {
  if (core.isClosed()) return () => {};
  const subscription = core.subscribe(subject, {
    callback: (error, message) => {
      if (error === null && !core.isClosed()) message.respond(respond());
    },
  });
  return () => {
    if (!subscription.isClosed()) subscription.unsubscribe();
  };
}

/**
 * Asks everybody who answers, and waits for no more than a second: for what is good to know, and no error where nobody says it.
 * @param read throws at what it cannot read, which is then passed by
 */
export async function askAll({ core }: Nats, subject: string, read: (text: string) => void): Promise<void> {
  try {
    for await (const message of await core.requestMany(subject, '', { strategy: 'stall', stall: NEXT_MS, maxWait: ALL_MS })) {
      try {
        read(message.string());
      } catch {
        // A version that says it otherwise.
      }
    }
  } catch {
    // Nobody else is there, or the connection has gone.
  }
}

function refuse(message: Msg, failure: unknown): void {
  const { code, isTransient } = failure instanceof Refused ? failure : new Refused('');
  // An older asker takes every refusal for the last word. Unanswered, it asks again.
  if (failure instanceof Refused && isTransient && !message.headers?.has(ASKS_ON)) return;
  const marks = headers();
  marks.set(FAILED, 'yes');
  if (code !== '') marks.set(CODE, code);
  marks.set(TRANSIENT, isTransient ? 'yes' : 'no');
  message.respond((failure as Error).message, { headers: marks });
}

/** @throws Refused */
function textOf(message: Msg): string {
  if (message.headers?.get(FAILED) !== 'yes') return message.string();
  // An older answerer does not say which: nothing that it says is the last word.
  throw new Refused(message.string(), message.headers.get(CODE), message.headers.get(TRANSIENT) !== 'no');
}

/** @param patienceMs for how long it is asked again while nobody answers; 0 once @throws Refused · Unavailable when nobody answered in time */
export async function question({ core, withRetry }: Nats, subject: string, text: string, patienceMs?: number): Promise<string> {
  return textOf(await withRetry(`to ask ${subject}`, () => core.request(subject, text, { timeout: ANSWER_MS }), patienceMs));
}

export interface Hedging {
  /** After so long without an answer another is asked beside the first, ms. */
  readonly hedgeMs: number;
  /** The same while somebody is known not to answer, ms; longer where answers take more than half of it, but never more than `hedgeMs`. */
  readonly suspiciousMs: number;
  /** How long somebody who did not answer is remembered, ms. */
  readonly rememberedMs: number;
  /** Nobody is asked after so long, ms. */
  readonly limitMs: number;
  /** So many transient refusals are taken for everybody's. */
  readonly refusals: number;
  /** After so many questions that nobody has answered, one more is asked each second. */
  readonly quickly: number;
}

/**
 * The server takes an answerer at random for each question: of three with one frozen, one in 729 asks it six times in a row, so that the wait
 * must not grow with each. Twelve reach one of the others in all but one of 500,000, and in all but one of 130 where two of three are frozen.
 */
const HEDGING: Hedging = { hedgeMs: 250, suspiciousMs: 40, rememberedMs: 30_000, limitMs: 10_000, refusals: 12, quickly: 12 };
const SLOWLY_MS = 1_000;
/** Share of the newest answer in what answers usually take. */
const NEWEST = 1 / 8;
/** Between two questions to those who refuse or are not there, ms. */
const AGAIN_MS = 25;

/**
 * Asks one after the other until somebody gives an answer that can be read: who is frozen, stopping, older or newer keeps nobody waiting.
 * The question must be one that may be answered several times. `read` throws at what it cannot read: another may answer in words that it can.
 * Throws Refused, or Unavailable when nobody answered in time.
 */
export type Asker = <T>(subject: string, text: string, read: (text: string) => T) => Promise<T>;

export function hedgedAsker(nats: Nats, hedging: Partial<Hedging> = {}): Asker {
  const { hedgeMs, suspiciousMs, rememberedMs, limitMs, refusals, quickly } = { ...HEDGING, ...hedging };
  let suspiciousUntil = Number.NEGATIVE_INFINITY;
  /** What an answer takes, ms: where all are slow, asking more of them would make them slower. */
  let usualMs = 0;
  const tookMs = (took: number): void => {
    usualMs += (Math.min(took, hedgeMs) - usualMs) * NEWEST;
  };
  const intervalMs = (asked: number): number => {
    if (asked >= quickly) return SLOWLY_MS;
    return performance.now() < suspiciousUntil ? Math.min(hedgeMs, Math.max(suspiciousMs, 2 * usualMs)) : hedgeMs;
  };

  return async (subject, text, read) => {
    const until = performance.now() + limitMs;
    const answered = Promise.withResolvers<{ readonly value: ReturnType<typeof read> }>();
    answered.promise.catch(() => {});
    let over = false;
    let refused = 0;
    let turns = 0;
    let last: unknown;
    /** Somebody refused, or nobody is there: the next need not wait for the hedge. */
    let turned = Promise.withResolvers<void>();

    const askOne = async (): Promise<void> => {
      const marks = headers();
      marks.set(ASKS_ON, 'yes');
      const began = performance.now();
      try {
        const message = await nats.core.request(subject, text, { timeout: Math.max(1, until - performance.now()), headers: marks });
        tookMs(performance.now() - began);
        answered.resolve({ value: read(textOf(message)) });
      } catch (error) {
        last = error;
        if (error instanceof Refused && !error.isTransient) answered.reject(error);
        if (!isTransient(error)) refused++;
        turned.resolve();
      }
    };
    const settled = answered.promise.then(
      () => {
        over = true;
      },
      () => {
        over = true;
      },
    );

    for (let asked = 1; !over && refused < refusals && performance.now() < until; asked++) {
      turned = Promise.withResolvers();
      if (nats.isConnected()) void askOne();
      const timer = new AbortController();
      const late = pause(Math.min(intervalMs(asked), Math.max(0, until - performance.now())), 'late', { signal: timer.signal }).catch(
        () => 'over',
      );
      const first = await Promise.race([settled, turned.promise, late]);
      timer.abort();
      if (over) break;
      if (first === 'late') suspiciousUntil = performance.now() + rememberedMs;
      else await pause(AGAIN_MS * 2 ** Math.min(turns++, 4) * (0.5 + Math.random() / 2));
    }
    if (over) return (await answered.promise).value;
    if (last instanceof Refused) throw last;
    throw new Unavailable(`to ask ${subject}`, last);
  };
}
