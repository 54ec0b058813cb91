/** The guarded download of a role, on the machine's own name servers. */
import type { Config } from '../config.ts';
import { addressJudge } from '../fetch/address.ts';
import { type Fetch, guardedFetch } from '../fetch/download.ts';
import { nameServers } from '../fetch/resolve.ts';

/** @returns undefined where files are not fetched by URL */
export const fetchFor = ({ fetch }: Config): Fetch | undefined =>
  fetch.rest ? guardedFetch(fetch, { resolve: nameServers(), judge: addressJudge(fetch) }) : undefined;
