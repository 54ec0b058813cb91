/** One page's share of the Internet: what it opened, what it was refused, and the end of all of it. */
import type { Socket } from 'node:net';
import { Transform } from 'node:stream';
import { Failure } from '../errors.ts';
import { within } from './deadline.ts';
import { dial } from './dial.ts';
import type { FindPage } from './page.ts';
import { type Refusal, refused } from './refusal.ts';

export interface PassageLimits {
  /** Of all that comes back to one page. */
  readonly bytes: number;
  /** Requests and tunnels of one page. */
  readonly exchanges: number;
  /** Of one connection, ms. */
  readonly connectMs: number;
}

export class Passage {
  /** Why something was not reached so far. */
  readonly refused = new Set<Refusal>();
  private readonly over = new AbortController();
  private readonly sockets = new Set<Socket>();
  private readonly find: FindPage;
  private readonly limits: PassageLimits;
  private bytes = 0;
  private exchanges = 0;

  constructor(find: FindPage, limits: PassageLimits) {
    this.find = find;
    this.limits = limits;
  }

  /**
   * @param url whose server is meant; its scheme says what port, not what is spoken
   * @returns a connection to a judged address, which ends with the passage @throws Failure `URL_REFUSED` · when the passage is over
   */
  async connect(url: string): Promise<Socket> {
    try {
      if (++this.exchanges > this.limits.exchanges) throw refused('unreachable', { says: 'The page asks for too much.' });
      const { target, addresses } = await this.find(url, this.over.signal);
      const late = () => refused('unreachable');
      const plain = { ...target, secure: false };
      return this.keep(await within(this.limits.connectMs, this.over.signal, late, (signal) => dial(plain, addresses, undefined, signal)));
    } catch (error) {
      if (error instanceof Failure) this.refused.add(error.details['reason'] as Refusal);
      throw error;
    }
  }

  /** What comes back goes through one of these. */
  meter(): Transform {
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        this.bytes += chunk.length;
        if (this.bytes > this.limits.bytes) this.close();
        done(null, chunk);
      },
    });
  }

  close(): void {
    if (!this.over.signal.aborted) this.over.abort(new Error('the page is done'));
    for (const socket of this.sockets) socket.destroy();
  }

  private keep(socket: Socket): Socket {
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    if (this.over.signal.aborted) socket.destroy();
    return socket;
  }
}
