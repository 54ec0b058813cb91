/** The connection to NATS of a role. Apart from the stores, which load what a worker need not wait for. */
import { hostname } from 'node:os';
import type { Config } from '../../config.ts';
import { connectPatiently, type Nats } from '../../nats/connection.ts';
import { inboxOf } from '../../nats/permissions.ts';
import { CannotStart, firstCause } from '../process/cannot-start.ts';
import { natsFiles } from './nats-files.ts';

/** How long a role tries to reach a server that does not answer, ms. A server accepts connections late while its node starts many pods. */
const PATIENCE_MS = 20_000;

/** @param pool of a worker @throws CannotStart */
export async function joinCluster({ nats }: Config, role: 'api' | 'worker' | 'controller', pool?: string): Promise<Nats> {
  if (nats === undefined) throw new CannotStart(`the role ${role} needs NATS: set NATS_URL`);
  return connectPatiently(PATIENCE_MS, {
    servers: nats.servers,
    name: `filemill ${role} on ${hostname()}`,
    inbox: inboxOf(role, pool),
    keepsAlive: role === 'worker',
    readsStrongly: role === 'api',
    user: nats.user,
    password: nats.password,
    ...(await natsFiles(nats)),
  }).catch((cause: unknown) => {
    throw new CannotStart(
      `no NATS server accepts the connection (${firstCause(cause)}): check NATS_URL, the certificates and the credentials`,
      {
        cause,
      },
    );
  });
}
