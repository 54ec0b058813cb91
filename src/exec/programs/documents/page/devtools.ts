/** A client of the Chrome DevTools Protocol (https://chromedevtools.github.io/devtools-protocol/) over a pair of pipes: JSON messages, each ended by a zero byte. */
import type { Readable, Writable } from 'node:stream';

export type Payload = Readonly<Record<string, unknown>>;
export type PageEventListener = (event: string, payload: Payload) => void;

interface Message {
  readonly id?: number;
  readonly sessionId?: string;
  readonly method?: string;
  readonly params?: Payload;
  readonly result?: Payload;
  readonly error?: { readonly message: string };
}

export class DevTools {
  private readonly to: Writable;
  private readonly waiting = new Map<number, { readonly settle: (payload: Payload) => void; readonly fail: (error: Error) => void }>();
  private readonly listeners = new Map<string, PageEventListener>();
  private lastId = 0;

  constructor(to: Writable, from: Readable) {
    this.to = to;
    // `startChromium` handles the browser's end.
    for (const pipe of [to, from]) pipe.on('error', () => {});
    // A screenshot is one message of many chunks: each is looked through once.
    let begun: string[] = [];
    from.setEncoding('utf8').on('data', (text: string) => {
      const [rest = '', ...others] = text.split('\0');
      begun.push(rest);
      for (const next of others) {
        this.onMessage(JSON.parse(begun.join('')) as Message);
        begun = [next];
      }
    });
  }

  /** @param session of a page; unset: the browser itself @throws an Error with Chromium's message */
  send(method: string, params: Payload = {}, session?: string): Promise<Payload> {
    const id = ++this.lastId;
    this.to.write(`${JSON.stringify({ id, method, params, sessionId: session })}\0`);
    return new Promise((settle, fail) => this.waiting.set(id, { settle, fail }));
  }

  /** Calls back with the events of a page, until `forget`. */
  listen(session: string, listener: PageEventListener): void {
    this.listeners.set(session, listener);
  }

  forget(session: string): void {
    this.listeners.delete(session);
  }

  private onMessage({ id, sessionId = '', method, params = {}, result = {}, error }: Message): void {
    if (method !== undefined) this.listeners.get(sessionId)?.(method, params);
    const waiting = this.waiting.get(id ?? 0);
    this.waiting.delete(id ?? 0);
    if (error === undefined) waiting?.settle(result);
    else waiting?.fail(new Error(error.message));
  }
}
