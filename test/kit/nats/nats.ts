/** Real NATS servers for a test, each on free ports with a separate folder: one, or three that replicate. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectNats, type Nats } from '../../../src/nats/connection.ts';
import type { Permissions } from '../../../src/nats/permissions.ts';
import { untilNextLook } from '../exec/looks.ts';
import { freePorts } from '../exec/ports.ts';
import { GO } from '../kube/processes.ts';

const BINARY = join(import.meta.dirname, '../../../.cache/bin/nats-server');

/** The password of every user that a test names; `ADMIN` may do everything. */
export const PASSWORD = 'kestrel';
export const ADMIN = 'admin';

export interface Servers {
  /** `host:port` of each. */
  readonly addresses: readonly string[];
  /** A new connection for each call; closed with the servers. */
  connect(as?: { readonly user: string; readonly password: string; readonly inbox?: string }): Promise<Nats>;
  /** Ends one as a power cut would end its process, all unless told which. */
  kill(index?: number): Promise<void>;
  /** To all of them unless told which: SIGSTOP parts them from everybody, SIGCONT brings them back. */
  signal(signal: NodeJS.Signals, index?: number): void;
  /** Starts those that were killed, on their ports and with what they had stored. @param password of every user from now on, but for `ADMIN` */
  restart(password?: string): Promise<void>;
  /** Ends them in good order, copies what they have stored, and starts them again. */
  backUp(): Promise<void>;
  /** Puts the copy in the place of what is stored: all must have been killed before. */
  restore(): Promise<void>;
  /** Removes what is stored, as with a disk that is replaced: all must have been killed before. */
  empty(): Promise<void>;
  stop(): Promise<void>;
}

/** @param count 1, or 3 for a cluster @param jetstream more of that part of the configuration @throws when `scripts/build-servers` has not been run */
export async function startNats(
  count: 1 | 3 = 1,
  users: Readonly<Record<string, Permissions>> = {},
  jetstream: object = {},
): Promise<Servers> {
  if (!existsSync(BINARY)) throw new Error('there is no NATS server: scripts/build-servers makes it');
  const folder = await mkdtemp(join(tmpdir(), 'filemill-nats-'));
  const ports = await freePorts(count * 2);
  const [clients, routes] = [ports.slice(0, count), ports.slice(count)];
  const children: (ChildProcess | undefined)[] = [];
  const connections: Nats[] = [];
  const addresses = clients.map((port) => `127.0.0.1:${port}`);

  let password = PASSWORD;
  const named = () => [
    ...Object.entries(users).map(([user, permissions]) => ({ user, password, permissions })),
    { user: ADMIN, password: PASSWORD, permissions: { publish: ['>'], subscribe: ['>'] } },
  ];
  const isClosed = Object.keys(users).length > 0;
  const admin = isClosed ? { user: ADMIN, password: PASSWORD } : {};
  const start = async (index: number): Promise<void> => {
    const own = join(folder, String(index));
    await mkdir(own, { recursive: true });
    const cluster = { name: 'test', listen: `127.0.0.1:${routes[index]}`, routes: routes.map((port) => `nats://127.0.0.1:${port}`) };
    const config = {
      server_name: `n${index}`,
      listen: addresses[index],
      jetstream: { store_dir: own, max_memory_store: 64 << 20, max_file_store: 1 << 30, ...jetstream },
      ...(count > 1 && { cluster }),
      ...(isClosed && { authorization: { users: named() } }),
    };
    // The server's format takes JSON.
    await writeFile(join(own, 'server.conf'), JSON.stringify(config));
    const begun = (await readFile(join(own, 'log'), 'utf8').catch(() => '')).length;
    const child = spawn(BINARY, ['-c', join(own, 'server.conf'), '-l', join(own, 'log')], {
      stdio: 'ignore',
      env: { ...process.env, ...GO },
    });
    children[index] = child;
    await once(child, 'spawn');
    await until(async () => {
      const log = (await readFile(join(own, 'log'), 'utf8').catch(() => '')).slice(begun);
      if (child.exitCode !== null) throw new Error(`nats-server ended: ${log}`);
      return log.includes('Server is ready');
    });
  };
  const startMissing = async () => {
    await Promise.all(clients.map((_, index) => (children[index] === undefined ? start(index) : undefined)));
    await haveJetStream(addresses, admin);
  };
  const end = async (index: number, signal: NodeJS.Signals): Promise<void> => {
    const child = children[index];
    children[index] = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };
  const backup = join(folder, 'backup');
  const copy = (from: string, to: string) =>
    Promise.all(clients.map((_, index) => cp(join(folder, from, String(index)), join(folder, to, String(index)), { recursive: true })));
  const empty = async () => {
    await Promise.all(clients.map((_, index) => rm(join(folder, String(index)), { recursive: true })));
  };
  const endAll = (signal: NodeJS.Signals) => Promise.all(clients.map((_, index) => end(index, signal)));

  await startMissing();
  return {
    addresses,
    async connect(as) {
      const nats = await connectNats({ servers: addresses, name: 'test', ...admin, ...as });
      connections.push(nats);
      return nats;
    },
    async kill(index) {
      if (index === undefined) await endAll('SIGKILL');
      else await end(index, 'SIGKILL');
    },
    signal(signal, index) {
      for (const child of index === undefined ? children : [children[index]]) child?.kill(signal);
    },
    async restart(next = password) {
      password = next;
      await startMissing();
    },
    async backUp() {
      await endAll('SIGTERM');
      await rm(backup, { recursive: true, force: true });
      await copy('', 'backup');
      await startMissing();
    },
    async restore() {
      await empty();
      await copy('backup', '');
    },
    empty,
    async stop() {
      await Promise.all(connections.map((nats) => nats.close()));
      await endAll('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Empties every stream, and with them buckets and queues: cheaper than new servers for each test. Not by deleting them: nats-server 2.14.5
 * gives a stream that is made again at once under the same name some of the old one's messages back.
 */
export async function emptyNats({ manager }: Nats): Promise<void> {
  for await (const name of manager.streams.names()) await manager.streams.purge(name);
}

/** A cluster is of use once it has elected who keeps its books. */
async function haveJetStream(addresses: readonly string[], admin: object): Promise<void> {
  let nats: Nats | undefined;
  await until(async () => {
    nats ??= await connectNats({ servers: addresses, name: 'test', ...admin }).catch(() => undefined);
    return (await nats?.manager.getAccountInfo().catch(() => undefined)) !== undefined;
  });
  await nats?.close();
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const begun = performance.now();
  while (!(await holds())) await untilNextLook(begun);
}
