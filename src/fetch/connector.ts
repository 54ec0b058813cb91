/** How a server on the Internet is reached: by this process itself, or through the role `egress`. */
import type { Socket } from 'node:net';
import type { Target } from './url.ts';

export interface Connector {
  /**
   * Judges where the target lies, and connects to nothing.
   * @throws Failure `URL_REFUSED`: port, dns, address; `OVERLOADED` where egress cannot be used · the reason of `signal`
   */
  judge(target: Target, signal: AbortSignal): Promise<void>;
  /**
   * @returns a connection to an address that was judged, without TLS and with no byte sent yet; `signal` no longer touches it
   * @throws as `judge` does; Failure `URL_REFUSED`: unreachable
   */
  connect(target: Target, signal: AbortSignal): Promise<Socket>;
}
