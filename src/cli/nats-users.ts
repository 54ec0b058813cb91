/** `filemill nats-users`: a NATS user for each role and each pool, as files for the servers, for Secrets and for environments. */

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ConfigError } from '../config.ts';
import { poolName } from '../contracts/messages/pool.ts';
import { toolchains } from '../contracts/toolchains.ts';
import { apiPermissions, controllerPermissions, type Permissions, workerPermissions } from '../nats/permissions.ts';
import { printable } from '../printable.ts';
import { CannotStart, errorCode } from '../roles/process/cannot-start.ts';

/** What a server's configuration includes. */
export const SERVER_FILE = 'nats-users.conf';
/** NATS_USER and NATS_PASSWORD of one user, as `kubectl create secret generic --from-env-file` and Docker take them. */
const fileOf = (user: string): string => `${user}.env`;
/** The same of the user that this one replaces, while processes still use it. */
const oldFileOf = (user: string): string => `${user}.old.env`;
const PASSWORD_BYTES = 24;
const PASSWORD = /^NATS_PASSWORD=([A-Za-z0-9_-]{16,})$/m;
const USER = /^NATS_USER=([a-z0-9-]+)$/m;

interface NatsUsersArguments {
  /** Created if missing. */
  readonly folder: string;
  /** Without any: one for each toolchain, named like it. */
  readonly pools?: readonly string[];
  /** `replace`: another user, with a new password, for each existing one; the servers admit both. `retire`: only the new ones from now on. */
  readonly rotation?: 'replace' | 'retire' | undefined;
}

/**
 * Writes them into the folder. Users that already have a file keep their passwords: a pool can be added without a change for the others. A user name has one password, so
 * a password is changed by way of another name. Files are for their owner alone.
 * @returns what to do with them @throws ConfigError · CannotStart
 */
export async function natsUsers(args: readonly string[]): Promise<string> {
  const { folder, pools = [], rotation } = asked(args);
  const wanted = pools.length > 0 ? pools : toolchains;
  const wrong = wanted.find((pool) => !poolName.safeParse(pool).success);
  if (wrong !== undefined)
    throw new CannotStart(`"${wrong}" is not a pool name: at most 40 of a-z, 0-9 and "-", with no "-" at either end`);
  const users: readonly (readonly [user: string, permissions: Permissions])[] = [
    ['api', apiPermissions],
    ['controller', controllerPermissions],
    ...[...new Set(wanted)].map((pool) => [`worker-${pool}`, workerPermissions(pool)] as const),
  ];
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const lines: string[] = [];
    for (const [user, permissions] of users) {
      if (rotation === 'retire') await rm(join(folder, oldFileOf(user)), { force: true });
      else if (rotation === 'replace') await setAside(folder, user);
      const admitted = [await read(folder, oldFileOf(user)), (await read(folder, fileOf(user))) ?? (await create(folder, user))];
      for (const found of admitted)
        if (found !== undefined)
          lines.push(`    { user: ${found.user}, password: "${found.password}", permissions: ${JSON.stringify(permissions)} }`);
    }
    await put(join(folder, SERVER_FILE), ['authorization {', '  users: [', ...lines, '  ]', '}', ''].join('\n'));
  } catch (error) {
    if (error instanceof CannotStart) throw error;
    throw new CannotStart(`the folder ${folder} cannot be written (${errorCode(error)})`, { cause: error });
  }
  return [
    `${users.length} users are in ${folder}:`,
    `  ${SERVER_FILE}\tfor each NATS server: include it from its configuration`,
    ...users.map(
      ([user]) => `  ${fileOf(user)}\tkubectl create secret generic ${secretOf(user)} --from-env-file=${join(folder, fileOf(user))}`,
    ),
  ].join('\n');
}

/** The names in the examples of pools. */
const secretOf = (user: string): string => `filemill-nats-${user.replace(/^worker-/, '')}`;

interface User {
  readonly user: string;
  readonly password: string;
}

async function read(folder: string, file: string): Promise<User | undefined> {
  const path = join(folder, file);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const [user, password] = [USER.exec(text)?.[1], PASSWORD.exec(text)?.[1]];
  if (user === undefined || password === undefined)
    throw new CannotStart(
      `${path} has no lines NATS_USER= and NATS_PASSWORD= with 16 characters of A-Z a-z 0-9 _ - at least: correct or remove it`,
    );
  return { user, password };
}

/** @param name of the user */
async function create(folder: string, role: string, name = role): Promise<User> {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const made = { user: name, password };
  await put(join(folder, fileOf(role)), textOf(made));
  return made;
}

const textOf = ({ user, password }: User): string => `NATS_USER=${user}\nNATS_PASSWORD=${password}\n`;

/** @throws CannotStart when the user was replaced before and both are still admitted: processes that use the older one would be shut out */
async function setAside(folder: string, role: string): Promise<void> {
  const [now, old] = [await read(folder, fileOf(role)), await read(folder, oldFileOf(role))];
  if (now === undefined) return;
  // The same user in both files: an earlier run was interrupted here.
  if (old !== undefined && old.user !== now.user)
    throw new CannotStart(`${role} was replaced before: end that with --retire, once every role has restarted`);
  await put(join(folder, oldFileOf(role)), textOf(now));
  await create(folder, role, `${role}-${randomBytes(4).toString('hex')}`);
}

/** Atomic. */
async function put(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** @throws ConfigError */
function asked(args: readonly string[]): NatsUsersArguments {
  const usage =
    'usage: "filemill nats-users <folder>", with a --pool <name> for each pool; without one, for a pool of each toolchain; --replace adds a new user beside each, --retire removes the replaced ones';
  const options = { pool: { type: 'string', multiple: true }, replace: { type: 'boolean' }, retire: { type: 'boolean' } } as const;
  try {
    const { positionals, values } = parseArgs({ args: [...args], allowPositionals: true, options });
    const [folder, ...more] = positionals;
    const { pool: pools = [], replace = false, retire = false } = values;
    const rotation = replace ? ('replace' as const) : retire ? ('retire' as const) : undefined;
    if (folder !== undefined && more.length === 0 && !(replace && retire)) return { folder, pools, rotation };
  } catch {
    // Reported below.
  }
  throw new ConfigError([`invalid arguments "${printable(args.join(' '))}"; ${usage}`]);
}
