/** `filemill limits`: who is banned and what waits, for an operator; and a ban lifted. Beside a running service, on its machine or over its NATS. */
import { parseArgs } from 'node:util';
import { type Config, ConfigError, loadConfig } from '../config.ts';
import { toolchains } from '../contracts/toolchains.ts';
import { saltOf } from '../jobs/encryption.ts';
import { identifyWith } from '../limits/clients/client.ts';
import { parseAddress } from '../limits/clients/network.ts';
import { bannedClients, unban, usageOfClient } from '../limits/clients/operator.ts';
import { openNatsLimits } from '../limits/nats.ts';
import { openSqliteLimits } from '../limits/sqlite.ts';
import type { LimitStore } from '../limits/store.ts';
import { readPools } from '../pools/nats/declarations.ts';
import { printable } from '../printable.ts';
import { depthOf } from '../queue/nats/depth.ts';
import { openSqliteQueue } from '../queue/sqlite.ts';
import { joinCluster } from '../roles/cluster/join.ts';
import { databaseIn, keyFile } from '../roles/machine/data-dir.ts';
import { CannotStart } from '../roles/process/cannot-start.ts';
import { versionAt } from '../roles/process/program.ts';

interface Stores {
  readonly limits: LimitStore;
  readonly salt: string;
  /** By pool. */
  readonly queues: readonly (readonly [pool: string, depth: { readonly waiting: number; readonly held: number }])[];
  close(): Promise<void>;
}

/** Enough of a hash to tell clients apart. */
const SHOWN_DIGITS = 12;

/** @returns what to print @throws ConfigError · CannotStart */
export async function limits(args: readonly string[], checkout: string): Promise<string> {
  const { address, lift } = asked(args);
  const config = loadConfig(process.env);
  const stores = config.nats === undefined ? await embedded(config, versionAt(checkout)) : await shared(config);
  try {
    return address === undefined ? await everybody(stores, config) : await one(stores, config, address, lift);
  } finally {
    await stores.close();
  }
}

async function everybody({ limits, queues }: Stores, { limits: settings }: Config): Promise<string> {
  const { known, banned } = await bannedClients(limits, settings, Date.now());
  return [
    `clients with a record: ${known}; banned: ${banned.length}${banned.length === 0 ? '' : ', by hash, as addresses are not stored'}`,
    ...banned.map(
      ({ key, until, rejectionsLastHour }) =>
        `  ${key.slice(0, SHOWN_DIGITS)}…  until ${new Date(until).toISOString()}, ${rejectionsLastHour} refusals in the last hour`,
    ),
    'queues',
    ...queues.map(([pool, { waiting, held }]) => `  ${pool}: ${waiting} waiting, ${held} running`),
    'filemill limits <address> shows one client, and with --unban lifts its ban',
  ].join('\n');
}

async function one({ limits, salt }: Stores, { limits: settings, api }: Config, address: string, lift: boolean): Promise<string> {
  const client = identifyWith({ trustProxy: api.trustProxy, sharedEgress: settings.sharedEgress, salt })(address, undefined);
  const usage = await (lift ? unban : usageOfClient)(limits, settings, client, Date.now());
  const { banExpiresAt, rejectionsLastHour, daily, hourly, mcp } = usage;
  const ban = banExpiresAt === undefined ? 'not banned' : `banned until ${new Date(banExpiresAt).toISOString()}`;
  const shares = Object.entries({ daily, hourly, mcp }).map(([name, { used, limit }]) => `  ${name}: ${used} of ${limit}`);
  return [`${client.network}: ${ban}, ${rejectionsLastHour} refusals in the last hour`, ...shares].join('\n');
}

async function embedded({ dataDir, secret, upkeep }: Config, version: string): Promise<Stores> {
  const database = databaseIn(dataDir, version);
  const limits = openSqliteLimits(database, Date.now);
  const queue = openSqliteQueue(database, Date.now, { capacity: upkeep.queueCapacity });
  const queues = await Promise.all(toolchains.map(async (pool) => [pool, await queue.depth(pool)] as const));
  await queue.close();
  return { limits, queues, salt: saltOf(secret.key ?? [await keyFile(dataDir)], secret.salt), close: () => limits.close() };
}

async function shared(config: Config): Promise<Stores> {
  const { key, salt } = config.secret;
  if (key === undefined) throw new CannotStart('clients are known by a hash: set SECRET_KEY as for the API');
  const nats = await joinCluster(config, 'api');
  const pools = await readPools(nats);
  const queues = await Promise.all(pools.map(async ({ name }) => [name, await depthOf(nats, name)] as const));
  return { limits: openNatsLimits(nats, Date.now), queues, salt: saltOf(key, salt), close: () => nats.close() };
}

/** @throws ConfigError */
function asked(args: readonly string[]): { readonly address: string | undefined; readonly lift: boolean } {
  const usage = 'usage: "filemill limits" or "filemill limits <address>"; --unban lifts a ban';
  try {
    const { positionals, values } = parseArgs({ args: [...args], allowPositionals: true, options: { unban: { type: 'boolean' } } });
    const [address, ...more] = positionals;
    const lift = values.unban === true;
    if (more.length === 0 && (address === undefined ? !lift : parseAddress(address) !== undefined)) return { address, lift };
  } catch {
    // Reported below.
  }
  throw new ConfigError([`invalid arguments "limits ${printable(args.join(' '))}"; ${usage}`]);
}
