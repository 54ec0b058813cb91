/** Pulls one message at a time from a durable consumer, perhaps waiting for one. It is held until an ack, a nak or the end of its ack wait. */
import { type Msg, nanos, RequestError, TimeoutError } from 'nats';
import { ANSWER_MS, type Nats } from './connection.ts';

/** A delivered message, which the consumer redelivers unless it gets an ack, or a nak with a delay, within its ack wait. */
export interface PulledMessage {
  readonly text: string;
  /** That it was pulled from. */
  readonly consumer: string;
  /** Sequence number in the stream. */
  readonly seq: number;
  /** 1 for the first delivery. */
  readonly deliveries: number;
  /** By `performance.now()`: the ack wait began then or later. */
  readonly since: number;
  /** The ack subject. */
  readonly ack: string;
  /** Resolves once the consumer has confirmed it. @param word of the ack protocol: `+ACK`, `-NAK` */
  say(word: string): Promise<void>;
}

/**
 * Also what holds a message: until the delay has passed no other worker gets it, and an ack still ends it (processNak in nats-server's consumer.go).
 * `+WPI` holds for the consumer's ack wait alone.
 * @param delayMs after which it is redelivered
 */
export const nakFor = (delayMs: number): string => (delayMs > 0 ? `-NAK {"delay":${Math.ceil(delayMs) * 1_000_000}}` : '-NAK');

/** How often a thread that waits for messages shows that it is not blocked, ms. */
const TURN_MS = 50;

/** What a thread knows of its delays while it waits for messages. */
export interface ThreadDelays extends Disposable {
  /** By `performance.now()`: what arrives now has arrived since then. */
  arrivedSince(): number;
}

/**
 * Between two ticks of a timer the event loop has looked for messages at least once, so what it finds now was not there before the last tick
 * but one. After a pause of the process or of its thread that tick lies far back.
 */
export function countTurns(): ThreadDelays {
  let [before, last] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const timer = setInterval(() => {
    [before, last] = [last, performance.now()];
  }, TURN_MS);
  return {
    arrivedSince: () => before,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

const HEARTBEAT = 100;
/** No message is available, or none in time, or other pulls come first. */
const NONE: ReadonlySet<number> = new Set([404, 408]);

/** The consumer does not exist, or has no leader at the moment. */
export class NoAnswerer extends RequestError {}

/**
 * A pull cannot be cancelled: a message already on its way would find no subscriber, and be redelivered only after its ack wait. A
 * caller that no longer wants one must nak what still arrives.
 * @param waitMs 0: only a message that is available now
 * @param turns of this thread, while it waits
 * @returns undefined if there is none, or none in time
 * @throws TimeoutError · RequestError if the consumer does not respond
 */
export function ask(
  { core, newInbox }: Nats,
  { stream, consumer }: { readonly stream: string; readonly consumer: string },
  waitMs: number,
  turns: ThreadDelays,
): Promise<PulledMessage | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<PulledMessage | undefined>();
  const inbox = newInbox();
  const askedAt = performance.now();
  const subscription = core.subscribe(inbox, {
    callback(error, message) {
      const code = message?.headers?.code ?? 0;
      if (error === null && code === HEARTBEAT) return;
      clearTimeout(silence);
      subscription.unsubscribe();
      if (error !== null) reject(error);
      else if (code === 0) resolve(pulledOf(message));
      else if (NONE.has(code)) resolve(undefined);
      else if (code === 503) reject(new NoAnswerer(`no server answers for consumer ${consumer} of stream ${stream}`));
      // 409: too many pulls wait, or the leader has changed. Not treated as empty: the caller would pull again immediately.
      else reject(new RequestError(`consumer ${consumer} of stream ${stream} answers ${code} ${message.headers?.description ?? ''}`));
    },
  });
  const silence = setTimeout(() => {
    subscription.unsubscribe();
    reject(new TimeoutError());
  }, waitMs + ANSWER_MS);
  const request = waitMs > 0 ? { batch: 1, expires: nanos(Math.ceil(waitMs)) } : { batch: 1, no_wait: true };
  core.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(request), { reply: inbox });

  const pulledOf = (message: Msg): PulledMessage => ({
    text: message.string(),
    consumer,
    since: Math.max(askedAt, turns.arrivedSince()),
    ack: message.reply ?? '',
    ...numbersIn(message.reply ?? ''),
    async say(word) {
      await core.request(message.reply ?? '', word, { timeout: ANSWER_MS });
    },
  });

  return promise;
}

/**
 * `$JS.ACK.<stream>.<consumer>.<deliveries>.<seq>.…`, or with `<domain>.<account>` before the stream and a token more at the end
 * (https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-15.md).
 */
function numbersIn(reply: string): { readonly deliveries: number; readonly seq: number } {
  const tokens = reply.split('.');
  const at = tokens.length < 11 ? 4 : 6;
  return { deliveries: Number(tokens[at]), seq: Number(tokens[at + 1]) };
}
