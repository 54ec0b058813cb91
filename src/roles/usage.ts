/** What `filemill help` says: the roles and commands, and what each is set by. */

interface Command {
  readonly summary: string;
  readonly usage: string;
  /** First parts of the settings that it reads (docs/configuration.md). */
  readonly reads: readonly string[];
}

export const COMMANDS = {
  local: {
    summary: 'serves on one machine: API, converters and upkeep in one process, files and jobs in a folder (the default)',
    usage: 'filemill local',
    reads: ['dataDir', 'api', 'secret', 'worker', 'fetch', 'egress', 'limits', 'log'],
  },
  api: {
    summary: 'a replica of the API, over NATS and S3',
    usage: 'filemill api',
    reads: ['api', 'secret', 'nats', 's3', 'pools', 'fetch', 'egress', 'limits', 'log'],
  },
  worker: {
    summary: 'converts the files of one pool, over NATS',
    usage: 'filemill worker [--pool <pool>]',
    reads: ['worker', 'nats', 'egress', 'log'],
  },
  egress: {
    summary: 'the one way to the Internet for API replicas and web workers',
    usage: 'filemill egress',
    reads: ['egress', 'fetch', 'log'],
  },
  controller: {
    summary: 'the Kubernetes operator: ToolchainPools and ConversionJobs',
    usage: 'filemill controller',
    reads: ['controller', 'nats', 'log'],
  },
  mcp: {
    summary: 'serves one assistant over standard input and output, with local files',
    usage: 'filemill mcp [--server <url>] [--allow <folder>]…',
    reads: [],
  },
  limits: {
    summary: 'shows who is banned and what waits, or one client; lifts a ban; and ends',
    usage: 'filemill limits [<address> [--unban]]',
    reads: ['dataDir', 'secret', 'nats', 'limits'],
  },
  'nats-users': {
    summary: 'writes a NATS user for each role and each pool, and ends',
    usage: 'filemill nats-users <folder> [--pool <pool>]… [--replace | --retire]',
    reads: [],
  },
} as const satisfies Readonly<Record<string, Command>>;

export type CommandName = keyof typeof COMMANDS;

const WIDTH = Math.max(...Object.keys(COMMANDS).map((name) => name.length)) + 2;

export function overview(version: string): string {
  const rows = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(WIDTH)}${summary}`);
  return [
    `filemill ${version}: converts files for anyone who sends them`,
    '',
    'filemill [role]          starts a role',
    'filemill help <role>     says what a role is set by',
    'filemill --version',
    '',
    ...rows,
    '',
    'Settings: environment variables, and a YAML file that CONFIG_FILE names; docs/configuration.md lists all of them.',
  ].join('\n');
}

/** @param variables the settings that environment variables stand for, as paths */
export function helpOf(name: CommandName, variables: Readonly<Record<string, readonly string[]>>): string {
  const { summary, usage, reads }: Command = COMMANDS[name];
  const read = Object.entries(variables).filter(([, [slice = '']]) => reads.includes(slice));
  const width = Math.max(0, ...read.map(([variable]) => variable.length)) + 2;
  return [
    `${usage}\n  ${summary}`,
    ...(read.length === 0 ? [] : ['', 'Environment variables, with the settings that they stand for in the file that CONFIG_FILE names:']),
    ...read.map(([variable, path]) => `  ${variable.padEnd(width)}${path.join('.')}`),
    ...(read.length === 0 ? [] : ['', `More settings begin with ${reads.join(', ')}: docs/configuration.md`]),
  ].join('\n');
}
