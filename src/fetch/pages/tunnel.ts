/** The connections of one web page: which it opened, which it was refused, and their common end. */
import type { Socket } from 'node:net';
import { Transform } from 'node:stream';
import { Failure } from '../../errors.ts';
import { type UrlRefusal, urlRefused } from '../refusal.ts';

export interface PageTunnelLimits {
  /** Received by one page in total, bytes. */
  readonly receivedBytes: number;
  /** Sent by one page in total, request headers included, bytes. */
  readonly sentBytes: number;
  /** Requests and CONNECT tunnels of one page. */
  readonly exchanges: number;
}

/** @param url of the server @returns a connection to a checked address @throws Failure `URL_REFUSED`, `OVERLOADED` · the reason of `signal` */
export type ConnectTunnel = (url: string, signal: AbortSignal) => Promise<Socket>;

export class PageTunnel {
  /** The reasons for refusals so far. */
  readonly refused = new Set<UrlRefusal>();
  /** Set when we could not reach the Internet at all: the page and its servers are not to blame. */
  outage: Failure | undefined;
  private readonly over = new AbortController();
  private readonly sockets = new Set<Socket>();
  private readonly open: ConnectTunnel;
  private readonly limits: PageTunnelLimits;
  private received = 0;
  private sent = 0;
  private exchanges = 0;

  constructor(open: ConnectTunnel, limits: PageTunnelLimits) {
    this.open = open;
    this.limits = limits;
  }

  /**
   * @param url of the server; the scheme gives the default port, not the protocol
   * @returns a connection to a checked address, which ends with the tunnel @throws Failure `URL_REFUSED` · when the tunnel is closed
   */
  async connect(url: string): Promise<Socket> {
    try {
      if (++this.exchanges > this.limits.exchanges)
        throw urlRefused('unreachable', { says: `The page makes more than ${this.limits.exchanges} requests.` });
      return this.keep(await this.open(url, this.over.signal));
    } catch (error) {
      if (error instanceof Failure && error.code === 'URL_REFUSED') this.refused.add(error.details['reason'] as UrlRefusal);
      else if (error instanceof Failure) this.outage = error;
      throw error;
    }
  }

  /** Counts bytes for the page, and closes the tunnel beyond the limit. */
  meterReceived(): Transform {
    return meter((bytes) => {
      this.received += bytes;
      if (this.received > this.limits.receivedBytes) this.close();
    });
  }

  /** Counts bytes from the page, and closes the tunnel beyond the limit. */
  meterSent(): Transform {
    return meter((bytes) => this.countSent(bytes));
  }

  /** @param bytes that the page sends by another way than `meterSent` */
  countSent(bytes: number): void {
    this.sent += bytes;
    if (this.sent > this.limits.sentBytes) this.close();
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

function meter(count: (bytes: number) => void): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      count(chunk.length);
      done(null, chunk);
    },
  });
}
