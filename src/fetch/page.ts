/** Where a web page may be: the rules of downloads, with unencrypted HTTP, which a page may come by. */
import type { Surroundings } from './download.ts';
import { publicAddresses } from './resolve.ts';
import type { FetchSettings } from './settings.ts';
import { judgeUrl, type Target } from './url.ts';

export interface Place {
  readonly target: Target;
  /** All that may be connected to, in canonical form. */
  readonly addresses: readonly string[];
}

/** @throws Failure `URL_REFUSED` with `details.reason` · the reason of `signal` */
export type FindPage = (url: string, signal: AbortSignal) => Promise<Place>;

export function findPage(settings: FetchSettings, { resolve, judge }: Pick<Surroundings, 'resolve' | 'judge'>): FindPage {
  const rules = { http: true, ports: settings.ports };
  return async (url, signal) => {
    const target = judgeUrl(url, rules);
    return { target, addresses: await publicAddresses(target, resolve, judge, settings.resolveMs, signal) };
  };
}
