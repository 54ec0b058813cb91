/** What of a role reaches the Internet, itself or through `egress`: the guarded download, and the gates that web pages are rendered through. */
import type { Config } from '../config.ts';
import { addressJudge } from '../fetch/address.ts';
import { directWay } from '../fetch/direct.ts';
import { type Fetch, guardedFetch } from '../fetch/download.ts';
import { type FindPage, findPage } from '../fetch/page.ts';
import { type Gate, openGate } from '../fetch/proxy.ts';
import { nameServers } from '../fetch/resolve.ts';
import { wayThrough } from '../fetch/through.ts';
import type { Way } from '../fetch/way.ts';
import { CannotStart } from './cannot-start.ts';

export interface Fetching {
  readonly fetch: Fetch | undefined;
  readonly findPage: FindPage | undefined;
  readonly openGate: (() => Promise<Gate>) | undefined;
}

/** @returns nothing where nothing is fetched by URL @throws CannotStart where egress is named and its token is not */
export function fetchingFor(config: Pick<Config, 'fetch' | 'egress'>): Fetching {
  const { fetch: settings } = config;
  if (!settings.rest) return { fetch: undefined, findPage: undefined, openGate: undefined };
  const way = wayFor(config);
  return { fetch: guardedFetch(settings, way), findPage: findPage(settings, way), openGate: () => openGate(way, settings) };
}

function wayFor({ fetch: settings, egress: { url, token } }: Pick<Config, 'fetch' | 'egress'>): Way {
  if (url === undefined) return directWay(settings, { resolve: nameServers(), judge: addressJudge(settings) });
  if (token === undefined) throw new CannotStart('whoever goes through the role egress needs its token: set EGRESS_TOKEN');
  return wayThrough(url, token, settings);
}
