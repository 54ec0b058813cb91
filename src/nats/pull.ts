/** One message at a time from a durable consumer: asked for, perhaps waited for, and then in hand until the consumer is told. */
import { type Msg, nanos, RequestError, TimeoutError } from 'nats';
import { ANSWER_MS, type Nats } from './connection.ts';

/** A message that the consumer has given us, and will give to another when it hears nothing for its ack wait. */
export interface Handed {
  readonly text: string;
  /** In the stream. */
  readonly seq: number;
  /** 1 the first time. */
  readonly deliveries: number;
  /** By `performance.now()`: the ack wait began then, or later. */
  readonly askedAt: number;
  /** Where the consumer hears of it. */
  readonly ack: string;
  /** Resolves once the consumer has heard it. @param word of the ack protocol: `+ACK`, `-NAK`, `+WPI` */
  say(word: string): Promise<void>;
}

const HEARTBEAT = 100;
/** No message is there, or none came in time, or others wait before us. */
const NONE: ReadonlySet<number> = new Set([404, 408]);

/** No consumer of the name is there, or none that leads at the moment. */
export class NoAnswerer extends RequestError {}

/**
 * There is no taking it back: a server that has just handed a message out finds nobody there, and it lies for its ack wait. Who has lost
 * interest gives back what still comes.
 * @param waitMs 0: only what is there at once
 * @returns undefined when there is none, or none came in time
 * @throws TimeoutError · RequestError when nobody answers
 */
export function ask({ core, newInbox }: Nats, stream: string, consumer: string, waitMs: number): Promise<Handed | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Handed | undefined>();
  const inbox = newInbox();
  const askedAt = performance.now();
  const subscription = core.subscribe(inbox, {
    callback(error, message) {
      const code = message?.headers?.code ?? 0;
      if (error === null && code === HEARTBEAT) return;
      clearTimeout(silence);
      subscription.unsubscribe();
      if (error !== null) reject(error);
      else if (code === 0) resolve(handedOf(message));
      else if (NONE.has(code)) resolve(undefined);
      else if (code === 503) reject(new NoAnswerer(`nobody answers for consumer ${consumer} of stream ${stream}`));
      // 409: too many wait, or another server leads now. Not an empty answer, which would be asked again at once.
      else reject(new RequestError(`consumer ${consumer} of stream ${stream} answers ${code} ${message.headers?.description ?? ''}`));
    },
  });
  const silence = setTimeout(() => {
    subscription.unsubscribe();
    reject(new TimeoutError());
  }, waitMs + ANSWER_MS);
  const wish = waitMs > 0 ? { batch: 1, expires: nanos(Math.ceil(waitMs)) } : { batch: 1, no_wait: true };
  core.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(wish), { reply: inbox });

  const handedOf = (message: Msg): Handed => ({
    text: message.string(),
    askedAt,
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
