/** A role's access to the Internet, directly or through `egress`: the guarded download, and the proxies for web pages. */
import type { Config } from '../../config.ts';
import { addressJudge } from '../../fetch/address.ts';
import type { Connector } from '../../fetch/connector.ts';
import { directConnector } from '../../fetch/direct-connector.ts';
import { type Fetch, guardedFetch } from '../../fetch/download/download.ts';
import { egressConnector } from '../../fetch/egress/connector.ts';
import { type FindPage, findPage } from '../../fetch/pages/page.ts';
import { type EgressProxy, openEgressProxy } from '../../fetch/pages/proxy.ts';
import { type PrivateFetch, privateConnect, privateConnector, privateUrls } from '../../fetch/private.ts';
import { nameServers } from '../../fetch/resolve.ts';
import { guardedSender, type Sender } from '../../fetch/send.ts';
import { CannotStart } from './cannot-start.ts';

export interface Fetching {
  readonly fetch: Fetch | undefined;
  readonly findPage: FindPage | undefined;
  /** Requests to servers that clients name. */
  readonly sender: Sender | undefined;
  readonly privately: PrivateFetch | undefined;
  readonly openEgressProxy: (() => Promise<EgressProxy>) | undefined;
}

/** @returns nothing if fetching by URL is disabled @throws CannotStart if egress is set without its token */
export function fetchingFor(config: Pick<Config, 'fetch' | 'egress'>): Fetching {
  const { fetch: settings } = config;
  if (!settings.rest) return { fetch: undefined, findPage: undefined, sender: undefined, privately: undefined, openEgressProxy: undefined };
  const connector = wayFor(config);
  const own = wayFor(config, true);
  return {
    fetch: guardedFetch(settings, connector),
    findPage: findPage(settings, connector),
    sender: guardedSender(settings, connector),
    privately: {
      fetch: guardedFetch(settings, own, undefined, privateUrls(settings)),
      connect: privateConnect(settings, own),
      settings,
    },
    openEgressProxy: () => openEgressProxy(connector, settings),
  };
}

function wayFor({ fetch: settings, egress: { url, token } }: Pick<Config, 'fetch' | 'egress'>, isPrivate = false): Connector {
  if (url === undefined) {
    const around = { resolve: nameServers(), judge: addressJudge(settings) };
    return isPrivate ? privateConnector(settings, around) : directConnector(settings, around);
  }
  const [first] = token ?? [];
  if (first === undefined) throw new CannotStart('connections through the role egress need its token: set EGRESS_TOKEN');
  return egressConnector(url, first, settings, isPrivate);
}
