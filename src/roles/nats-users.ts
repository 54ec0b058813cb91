/** `filemill nats-users`: a NATS user for each role and each pool, as files for the servers, for Secrets and for environments. */

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { poolName } from '../contracts/messages/pool.ts';
import { toolchains } from '../contracts/toolchains.ts';
import { apiPermissions, controllerPermissions, type Permissions, workerPermissions } from '../nats/permissions.ts';
import { CannotStart, errorCode } from './process/cannot-start.ts';

/** What a server's configuration includes. */
export const SERVER_FILE = 'nats-users.conf';
/** NATS_USER and NATS_PASSWORD of one user, as `kubectl create secret generic --from-env-file` and Docker take them. */
const fileOf = (user: string): string => `${user}.env`;
const PASSWORD_BYTES = 24;
const PASSWORD = /^NATS_PASSWORD=([A-Za-z0-9_-]{16,})$/m;

interface Wanted {
  /** Created if missing. */
  readonly folder: string;
  /** Without any: one for each toolchain, named like it. */
  readonly pools?: readonly string[];
}

/**
 * Users that already have a file keep their passwords: a pool can be added without a change for the others, and a password is changed by
 * removing its file. Files are for their owner alone.
 * @returns what to do with them @throws CannotStart
 */
export async function writeNatsUsers({ folder, pools = [] }: Wanted): Promise<string> {
  const wanted = pools.length > 0 ? pools : toolchains;
  const wrong = wanted.find((pool) => !poolName.safeParse(pool).success);
  if (wrong !== undefined)
    throw new CannotStart(`"${wrong}" is no name of a pool: at most 40 lower-case letters, digits and "-", with none of these at an end`);
  const users: readonly (readonly [user: string, permissions: Permissions])[] = [
    ['api', apiPermissions],
    ['controller', controllerPermissions],
    ...[...new Set(wanted)].map((pool) => [`worker-${pool}`, workerPermissions(pool)] as const),
  ];
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const lines: string[] = [];
    for (const [user, permissions] of users) {
      const password = await passwordOf(folder, user);
      lines.push(`    { user: ${user}, password: "${password}", permissions: ${JSON.stringify(permissions)} }`);
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

async function passwordOf(folder: string, user: string): Promise<string> {
  const path = join(folder, fileOf(user));
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const kept = PASSWORD.exec(text ?? '')?.[1];
  if (kept !== undefined) return kept;
  if (text !== undefined)
    throw new CannotStart(`${path} holds no line NATS_PASSWORD= with 16 characters of A-Z a-z 0-9 _ - at least: mend or remove it`);
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  await put(path, `NATS_USER=${user}\nNATS_PASSWORD=${password}\n`);
  return password;
}

/** Atomic. */
async function put(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
