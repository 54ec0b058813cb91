/** Carries bytes between two connections until either ends, within a limit on bytes and on time. */
import type { Socket } from 'node:net';

export interface TunnelLimits {
  /** Both ways together. */
  readonly bytes: number;
  /** From the start: a silent connection may be one whose reader is busy, so silence is for its ends to judge. */
  readonly ms: number;
}

/**
 * How one side ended is how the other ends: a connection that breaks off must not look like one whose server said all it had, for a body
 * without a length is over when its connection is.
 * @param head that came from the client with its request
 */
export function relay(client: Socket, head: Buffer, upstream: Socket, { bytes, ms }: TunnelLimits): void {
  let left = bytes;
  const breakOff = () => {
    for (const socket of [client, upstream]) socket.resetAndDestroy();
  };
  const over = setTimeout(breakOff, ms);
  const join = (from: Socket, to: Socket) =>
    from
      .on('data', (chunk: Buffer) => {
        left -= chunk.length;
        if (left < 0) breakOff();
      })
      .once('error', breakOff)
      // Neither we nor a browser ends one half only: who ends theirs has gone.
      .once('end', () => to.destroySoon())
      .once('close', () => {
        if (!from.readableEnded) to.destroy();
        if (client.destroyed && upstream.destroyed) clearTimeout(over);
      })
      .pipe(to);
  upstream.write(head);
  join(client, upstream);
  join(upstream, client);
}
