/** Checks the URL of a web page by the rules of downloads, except that unencrypted HTTP is allowed. */

import type { Connector } from '../connector.ts';
import type { FetchSettings } from '../settings.ts';
import { type ConnectTarget, judgeUrl } from '../url.ts';

/** @throws Failure `URL_REFUSED` with `details.reason`, `OVERLOADED` · the reason of `signal` */
export type FindPage = (url: string, signal: AbortSignal) => Promise<ConnectTarget>;

export function findPage(settings: FetchSettings, connector: Connector): FindPage {
  return async (url, signal) => {
    const target = judgePage(url, settings);
    await connector.judge(target, signal);
    return target;
  };
}

/** @throws Failure `URL_REFUSED`: scheme, credentials, port, or address for a host that can be none */
export const judgePage = (url: string, { ports }: Pick<FetchSettings, 'ports'>): ConnectTarget => judgeUrl(url, { http: true, ports });
