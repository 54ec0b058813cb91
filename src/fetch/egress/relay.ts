/** Relays bytes between two connections until either ends, within limits on bytes and time. */
import type { Socket } from 'node:net';

export interface TunnelLimits {
  /** Bytes of both directions together. */
  readonly bytes: number;
  /** Time limit of the whole tunnel. There is no idle limit: a silent connection may have a busy reader, so the two ends decide about silence. */
  readonly ms: number;
}

/**
 * Each side ends as the other did. A broken connection must not look like a regular end, since the end of the connection marks the end of a
 * body without a length.
 * @param head bytes that the client sent with its request
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
      // Neither we nor browsers half-close connections: a side that ends has gone.
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
