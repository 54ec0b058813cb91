/** What of a role reaches the Internet: the guarded download, and the gates that web pages are rendered through. */
import type { Config } from '../config.ts';
import { addressJudge } from '../fetch/address.ts';
import { type Fetch, guardedFetch } from '../fetch/download.ts';
import { type FindPage, findPage } from '../fetch/page.ts';
import { type Gate, openGate } from '../fetch/proxy.ts';
import { nameServers, type Resolve } from '../fetch/resolve.ts';

export interface Egress {
  readonly fetch: Fetch | undefined;
  readonly findPage: FindPage | undefined;
  readonly openGate: (() => Promise<Gate>) | undefined;
}

/** @param resolve the machine's own name servers unless given @returns nothing where nothing is fetched by URL */
export function egressFor({ fetch: settings }: Config, resolve: Resolve = nameServers()): Egress {
  if (!settings.rest) return { fetch: undefined, findPage: undefined, openGate: undefined };
  const surroundings = { resolve, judge: addressJudge(settings) };
  const find = findPage(settings, surroundings);
  return { fetch: guardedFetch(settings, surroundings), findPage: find, openGate: () => openGate(find, settings) };
}
