/** The interface of connectors, which open connections to servers on the Internet: directly, or through the role `egress`. */
import type { Socket } from 'node:net';
import type { ConnectTarget } from './url.ts';

export interface Connector {
  /**
   * Checks the target's addresses without connecting.
   * @throws Failure `URL_REFUSED`: port, dns, address; `OVERLOADED` where egress cannot be used · the reason of `signal`
   */
  judge(target: ConnectTarget, signal: AbortSignal): Promise<void>;
  /**
   * @returns a connection to a checked address, without TLS and with no byte sent yet; `signal` no longer affects it
   * @throws as `judge` does; Failure `URL_REFUSED`: unreachable
   */
  connect(target: ConnectTarget, signal: AbortSignal): Promise<Socket>;
}
