/** What in compose.cluster.yaml follows from the toolchains: a worker for each, its NATS user with just the rights that it needs, and their passwords. */

import { readFileSync } from 'node:fs';
import { toolchains, toolchainTable } from '../src/contracts/toolchains.ts';
import { apiPermissions, type Permissions, workerPermissions } from '../src/nats/permissions.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

/** @returns compose.cluster.yaml as it should be @throws where it has lost the place of a part */
export function composeFile(): string {
  const text = readFileSync('compose.cluster.yaml', 'utf8');
  const passwords = `#   users="${['api', ...toolchains].join(' ').toUpperCase()}"`;
  const named = text.replace(/^# {3}users=".*"$/m, passwords);
  if (!named.includes(passwords)) throw new Error('compose.cluster.yaml has lost the line users="…" of its first comment');
  const users = [userOf('api', apiPermissions), ...toolchains.map((pool) => userOf(pool, workerPermissions(pool)))];
  const workers = toolchainTable.map(serviceOf).join('\n').split('\n');
  const authorization = ['authorization {', '  users: [', ...users.map((line) => `    ${line}`), '  ]', '}'];
  const withWorkers = filled(named, 'Workers, from src/contracts/toolchains.ts', 'End of workers.', workers);
  return filled(withWorkers, 'Users, from src/nats/permissions.ts', 'End of users.', authorization);
}

/** Replaces what stands between two comments, indented as they are. */
function filled(text: string, source: string, last: string, lines: readonly string[]): string {
  const [first, end] = [`# ${source} by \`make generate\`: do not edit.\n`, `# ${last}\n`];
  const [from, to] = [text.indexOf(first), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`compose.cluster.yaml has no place between "${first.trim()}" and "${end.trim()}"`);
  const indent = text.slice(text.lastIndexOf('\n', from) + 1, from);
  const content = lines.map((line) => (line === '' ? '\n' : `${indent}${line}\n`)).join('');
  return `${text.slice(0, from)}${first}${content}${indent}${text.slice(to)}`;
}

const passwordOf = (user: string): string => {
  const name = `NATS_PASSWORD_${user.toUpperCase()}`;
  return `\${${name}:?set ${name} in .env}`;
};

const EGRESS = `
    EGRESS_URL: http://egress:8081
    EGRESS_TOKEN: \${EGRESS_TOKEN:?set EGRESS_TOKEN in .env}`;

const serviceOf = ({ name, image, reaches }: (typeof toolchainTable)[number]): string => `${name}:
  <<: *worker
  image: ${image}:\${FILEMILL_VERSION:-${version}}
  command: [filemill, worker]
  environment:
    <<: *worker-environment
    POOL: ${name}
    TOOLCHAIN: ${name}
    NATS_USER: ${name}
    NATS_PASSWORD: ${passwordOf(name)}${reaches === 'internet' ? EGRESS : ''}
`;

/** Compose puts the password in, and takes two dollars for one (https://docs.docker.com/reference/compose-file/interpolation). */
const userOf = (user: string, permissions: Permissions): string =>
  `{ user: ${user}, password: "${passwordOf(user)}", permissions: ${JSON.stringify(permissions).replaceAll('$', '$$$$')} }`;
