/** The NATS users of compose.yaml: one for the API and one for each pool of workers, with just the rights that they need. */

import { readFileSync } from 'node:fs';
import { toolchains } from '../src/contracts/toolchains.ts';
import { apiPermissions, type Permissions, workerPermissions } from '../src/nats/permissions.ts';

const BEGIN = '# Users, from src/nats/permissions.ts by `make generate`: do not edit.\n';
const END = '# End of users.\n';

/** @returns compose.yaml as it should be @throws where it has lost the place of its users */
export function composeFile(): string {
  const text = readFileSync('compose.yaml', 'utf8');
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`compose.yaml has no place for users between "${BEGIN.trim()}" and "${END.trim()}"`);
  const indent = text.slice(text.lastIndexOf('\n', begin) + 1, begin);
  const users = [userOf('api', apiPermissions), ...toolchains.map((pool) => userOf(pool, workerPermissions(pool)))];
  const lines = ['authorization {', '  users: [', ...users.map((line) => `    ${line}`), '  ]', '}'];
  return `${text.slice(0, begin)}${BEGIN}${lines.map((line) => `${indent}${line}\n`).join('')}${indent}${text.slice(end)}`;
}

/** Compose puts the password in, and takes two dollars for one (https://docs.docker.com/reference/compose-file/interpolation). */
function userOf(user: string, permissions: Permissions): string {
  const name = `NATS_PASSWORD_${user.toUpperCase()}`;
  const allowed = JSON.stringify(permissions).replaceAll('$', '$$$$');
  return `{ user: ${user}, password: "\${${name}:?set ${name} in .env}", permissions: ${allowed} }`;
}
