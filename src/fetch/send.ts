/** The guarded request with a body: to a checked address only, without redirects, and of the answer only its head is read. */
import type { Socket } from 'node:net';
import { pipeline, type Readable, Transform } from 'node:stream';
import { onAbort } from '../streams/abort.ts';
import { startDeadline, within } from '../streams/deadline.ts';
import type { Connector } from './connector.ts';
import { exchange, type Headers, type SentBody } from './download/exchange.ts';
import { secured } from './download/tls.ts';
import { urlRefused } from './refusal.ts';
import type { FetchSettings } from './settings.ts';
import { type ConnectTarget, type JudgeUrl, judgeUrl } from './url.ts';

export interface SendRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly body: SentBody;
  /** For the whole request, ms; each step has its own limit as well. */
  readonly totalMs: number;
  /** Called once the connection is there, just before the first byte is sent. Where it throws, nothing is sent. */
  readonly confirm?: () => Promise<void>;
}

export interface SendAnswer {
  readonly status: number;
  /** The header of that name, RFC 9110 §10.2.3. */
  readonly retryAfter: string | undefined;
}

export interface Sender {
  /** @throws Failure `URL_REFUSED` for a URL that can never be reached: its scheme, port or credentials, or an address that is not public */
  judge(url: string, signal: AbortSignal): Promise<void>;
  /** @throws Failure `URL_REFUSED` with `details.reason`, and `details.limit` of `total` after `totalMs`; `OVERLOADED` · the reason of `signal` · what `confirm` throws */
  send(request: SendRequest, signal: AbortSignal): Promise<SendAnswer>;
}

const late =
  (what: string, details = {}) =>
  () =>
    urlRefused('unreachable', { says: `The server in the URL did not ${what} in time.`, details });

/** @param ca certificates in PEM that are trusted instead of Node's @param judge the rules of URLs */
export function guardedSender(settings: FetchSettings, connector: Connector, ca?: readonly string[], judge: JudgeUrl = judgeUrl): Sender {
  const { connectMs, headersMs, idleMs, minBytesPerSecond, maxHeaderBytes } = settings;

  async function open(target: ConnectTarget, signal: AbortSignal): Promise<Socket> {
    const plain = await connector.connect(target, signal);
    if (!target.secure) return plain;
    try {
      return await within(connectMs, signal, late('set up a secure connection'), (limited) => secured(plain, target, ca, limited));
    } catch (error) {
      plain.destroy();
      throw error;
    }
  }

  return {
    async judge(url, signal) {
      const target = judge(url, settings);
      // A name is resolved when it is used: its server must not keep a client waiting.
      if (target.literal) await connector.judge(target, signal);
    },

    async send({ url, headers, body, totalMs, confirm }, signal) {
      const target = judge(url, settings);
      const deadline = startDeadline(totalMs, signal, late('answer', { limit: 'total' }));
      try {
        const socket = await open(target, deadline.signal);
        try {
          await confirm?.();
          const ask = (limited: AbortSignal, sent = body) => exchange(target, socket, headers, maxHeaderBytes, limited, sent);
          const { content } = body;
          const response = await (Buffer.isBuffer(content)
            ? within(headersMs, deadline.signal, late('answer'), ask)
            : whileItMoves(content, { idleMs: Math.max(idleMs, headersMs), minBytesPerSecond }, deadline.signal, (moving, limited) =>
                ask(limited, { ...body, content: moving }),
              ));
          const { statusCode: status = 0, headers: answered } = response;
          response.destroy();
          return { status, retryAfter: answered['retry-after'] };
        } finally {
          socket.destroy();
        }
      } finally {
        deadline.stop();
      }
    },
  };
}

/** Longer than the idle time, as of downloads. */
const RATE_WINDOWS = 2;

/**
 * Ends work whose content is not taken, or too slowly, or that has no answer once it was.
 * @param limits how long nothing may happen, ms, and how much is taken at least, on average over twice that time and while the server is waited for
 */
async function whileItMoves<T>(
  content: Readable,
  { idleMs, minBytesPerSecond }: Pick<FetchSettings, 'idleMs' | 'minBytesPerSecond'>,
  signal: AbortSignal,
  work: (moving: Readable, limited: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(late('take the file')()), idleMs);
  const unsubscribe = onAbort(signal, (reason) => over.abort(reason));
  let takenBytes = 0;
  const moving = new Transform({
    transform(chunk: Buffer, _, done) {
      takenBytes += chunk.length;
      timer.refresh();
      done(null, chunk);
    },
  });
  const rateMs = RATE_WINDOWS * idleMs;
  const rate = setInterval(() => {
    const isWaiting = moving.readableLength >= moving.readableHighWaterMark;
    if (isWaiting && takenBytes < (minBytesPerSecond * rateMs) / 1_000) over.abort(late('take the file fast enough')());
    takenBytes = 0;
  }, rateMs);
  pipeline(content, moving, () => {});
  try {
    return await work(moving, over.signal);
  } finally {
    clearTimeout(timer);
    clearInterval(rate);
    unsubscribe();
    moving.destroy();
  }
}
