/** One page's share of the Internet: what it opened, what it was refused, and the end of all of it. */
import type { Socket } from 'node:net';
import { Transform } from 'node:stream';
import { Failure } from '../../errors.ts';
import { type Refusal, refused } from '../refusal.ts';

export interface PageTunnelLimits {
  /** Of all that comes back to one page. */
  readonly bytes: number;
  /** Requests and tunnels of one page. */
  readonly exchanges: number;
}

/** @param url whose server is meant @returns a connection to a judged address @throws Failure `URL_REFUSED`, `OVERLOADED` · the reason of `signal` */
export type Connect = (url: string, signal: AbortSignal) => Promise<Socket>;

export class PageTunnel {
  /** Why something was not reached so far. */
  readonly refused = new Set<Refusal>();
  /** What kept us from reaching anything: no word on the page or its servers. */
  lost: Failure | undefined;
  private readonly over = new AbortController();
  private readonly sockets = new Set<Socket>();
  private readonly reach: Connect;
  private readonly limits: PageTunnelLimits;
  private bytes = 0;
  private exchanges = 0;

  constructor(reach: Connect, limits: PageTunnelLimits) {
    this.reach = reach;
    this.limits = limits;
  }

  /**
   * @param url whose server is meant; its scheme says what port, not what is spoken
   * @returns a connection to a judged address, which ends with the passage @throws Failure `URL_REFUSED` · when the passage is over
   */
  async connect(url: string): Promise<Socket> {
    try {
      if (++this.exchanges > this.limits.exchanges) throw refused('unreachable', { says: 'The page asks for too much.' });
      return this.keep(await this.reach(url, this.over.signal));
    } catch (error) {
      if (error instanceof Failure && error.code === 'URL_REFUSED') this.refused.add(error.details['reason'] as Refusal);
      else if (error instanceof Failure) this.lost = error;
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
