/** Requests between processes that one of several answers: the content is text, and a refusal has a code for programs and a sentence for logs. */
import { setTimeout as pause } from 'node:timers/promises';
import { headers, type Msg } from 'nats';
import type { Nats } from './connection.ts';
import { isNatsTransient, Unavailable } from './unavailable.ts';

const FAILED = 'Filemill-Failed';
/** In a response: the code of a refusal, and whether another process may answer otherwise. */
const CODE = 'Filemill-Code';
const TRANSIENT = 'Filemill-Transient';
/** In a request: the sender knows the two headers above, and asks another process if one cannot answer. */
const ASKS_ON = 'Filemill-Asks-On';
/** Time limit of a response, ms. */
const ANSWER_MS = 5_000;

/** The process that was asked refused or failed. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';
  /** For programs; empty for an error that is not one of the known refusals. */
  readonly code: string;
  /** Whether another process, or the same one later, may answer otherwise. */
  readonly isTransient: boolean;
  constructor(message: string, code = '', isTransient = true, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.isTransient = isTransient;
  }
}

/** @returns unsubscribe */
export function answer({ core }: Nats, subject: string, respond: (text: string, subject: string) => Promise<string>): () => void {
  // A queue group: each request goes to one subscriber.
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
          // The connection was closed meanwhile: the sender will retry.
        });
    },
  });
  return () => {
    if (!subscription.isClosed()) subscription.unsubscribe();
  };
}

/** Time limit of `askAll`, and between one response and the next, ms. */
const ALL_MS = 1_000;
const NEXT_MS = 250;

/** Answers requests of `askAll`, as every other subscriber does. @param respond no answer where it fails @returns unsubscribe */
export function answerAll(
  { core }: Nats,
  subject: string,
  respond: (text: string, subject: string) => string | Promise<string>,
): () => void {
  if (core.isClosed()) return () => {};
  const answered = async (message: Msg) => {
    const text = await respond(message.string(), message.subject);
    if (!core.isClosed()) message.respond(text);
  };
  const subscription = core.subscribe(subject, {
    callback: (error, message) => {
      if (error === null) void answered(message).catch(() => {});
    },
  });
  return () => {
    if (!subscription.isClosed()) subscription.unsubscribe();
  };
}

/**
 * Asks all subscribers, and waits for no more than a second: for useful but optional information, so having no response is no error.
 * @param read throws if it cannot read a response, which is then skipped
 * @param suffices whether no further response is needed
 */
export async function askAll(
  { core }: Nats,
  subject: string,
  read: (text: string) => void,
  { text = '', suffices = () => false }: { readonly text?: string; readonly suffices?: () => boolean } = {},
): Promise<void> {
  try {
    for await (const message of await core.requestMany(subject, text, { strategy: 'stall', stall: NEXT_MS, maxWait: ALL_MS })) {
      try {
        read(message.string());
      } catch {
        // Sent by a version with another format.
      }
      if (suffices()) return;
    }
  } catch {
    // There is no other subscriber, or the connection is closed.
  }
}

function refuse(message: Msg, failure: unknown): void {
  const { code, isTransient } = failure instanceof RequestRefused ? failure : new RequestRefused('');
  // An older sender takes every refusal as final. Without a response it retries.
  if (failure instanceof RequestRefused && isTransient && !message.headers?.has(ASKS_ON)) return;
  const marks = headers();
  marks.set(FAILED, 'yes');
  if (code !== '') marks.set(CODE, code);
  marks.set(TRANSIENT, isTransient ? 'yes' : 'no');
  message.respond((failure as Error).message, { headers: marks });
}

/** @throws RequestRefused */
function textOf(message: Msg): string {
  if (message.headers?.get(FAILED) !== 'yes') return message.string();
  // An older process does not send this header: treat all of its refusals as transient.
  throw new RequestRefused(message.string(), message.headers.get(CODE), message.headers.get(TRANSIENT) !== 'no');
}

/** @param patienceMs how long to retry while there is no answer; 0: ask once @throws RequestRefused · Unavailable without an answer in time */
export async function question({ core, withRetry }: Nats, subject: string, text: string, patienceMs?: number): Promise<string> {
  return textOf(await withRetry(`to ask ${subject}`, () => core.request(subject, text, { timeout: ANSWER_MS }), patienceMs));
}

export interface Hedging {
  /** After this long without a response another process is asked in parallel, ms. */
  readonly hedgeMs: number;
  /** The same while some process is known not to answer, ms; longer where answers take more than half of it, but never more than `hedgeMs`. */
  readonly suspiciousMs: number;
  /** How long an unresponsive process is remembered, ms. */
  readonly rememberedMs: number;
  /** No process is asked after this long, ms. */
  readonly limitMs: number;
  /** After this many transient refusals it gives up. */
  readonly refusals: number;
  /** After so many questions without an answer, one more is asked each second. */
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
 * Asks one process after another until one gives a readable answer: a frozen, stopping, older or newer process causes no delay.
 * The request must be safe to answer several times. `read` throws if it cannot read an answer: another process may send one that it can.
 * Throws RequestRefused, or Unavailable without an answer in time.
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
    let pauses = 0;
    let last: unknown;
    /** Resolves after a refusal, or if no process listens: the next request need not wait for the hedge. */
    let askNext = Promise.withResolvers<void>();

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
        if (error instanceof RequestRefused && !error.isTransient) answered.reject(error);
        if (!isNatsTransient(error)) refused++;
        askNext.resolve();
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
      askNext = Promise.withResolvers();
      if (nats.isConnected()) void askOne();
      const timer = new AbortController();
      const late = pause(Math.min(intervalMs(asked), Math.max(0, until - performance.now())), 'late', { signal: timer.signal }).catch(
        () => 'over',
      );
      const first = await Promise.race([settled, askNext.promise, late]);
      timer.abort();
      if (over) break;
      if (first === 'late') suspiciousUntil = performance.now() + rememberedMs;
      else await pause(AGAIN_MS * 2 ** Math.min(pauses++, 4) * (0.5 + Math.random() / 2));
    }
    if (over) return (await answered.promise).value;
    if (last instanceof RequestRefused) throw last;
    throw new Unavailable(`to ask ${subject}`, last);
  };
}
