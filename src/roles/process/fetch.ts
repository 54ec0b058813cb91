/** A role's access to the Internet, directly or through `egress`: the guarded download, and the proxies for web pages. */
import type { Config } from '../../config.ts';
import { type S3Places, s3Places } from '../../destinations/places.ts';
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
  /** Objects that requests name. */
  readonly places: S3Places;
  readonly openEgressProxy: (() => Promise<EgressProxy>) | undefined;
}

/** @returns nothing if fetching by URL is disabled @throws CannotStart if egress is set without its token */
export function fetchingFor(config: Pick<Config, 'fetch' | 'egress'> & Partial<Pick<Config, 'connections'>>): Fetching {
  const { fetch: settings } = config;
  const places = s3Places(config.connections ?? {});
  if (!settings.rest)
    return { fetch: undefined, findPage: undefined, sender: undefined, privately: undefined, places, openEgressProxy: undefined };
  const connector = wayFor(config);
  const own = wayFor(config, true);
  const [fetch, ownFetch] = [guardedFetch(settings, connector), guardedFetch(settings, own, undefined, privateUrls(settings))];
  const [sender, ownSender] = [guardedSender(settings, connector), guardedSender(settings, own, undefined, privateUrls(settings))];
  return {
    // What was signed for a connection goes where the operator says, as sources of ConversionJobs do.
    fetch: (url, ...rest) => (places.isOperators(url) ? ownFetch : fetch)(url, ...rest),
    findPage: findPage(settings, connector),
    sender: {
      judge: sender.judge,
      send: (request, signal) => (places.isOperators(request.url) ? ownSender : sender).send(request, signal),
    },
    places,
    privately: {
      fetch: ownFetch,
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
