/** `filemill <role>`: reads the configuration, starts the role, and ends it in good order. `filemill <command>`: see cli/. */
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { isFileCommand, runFileCommand } from './cli/files.ts';
import { print, tell } from './cli/print.ts';
import { HELP, helpOf, overview } from './cli/usage.ts';
import { printable } from './printable.ts';
import { CannotStart } from './roles/process/cannot-start.ts';
import { commitOf, versionAt, versionWith } from './roles/process/program.ts';
import type { Running } from './roles/process/running.ts';

/** Loaded one by one: a worker need not wait for what only the controller imports. */
const ROLES = {
  local: async () => (await import('./roles/local.ts')).local,
  api: async () => (await import('./roles/api.ts')).api,
  worker: async () => (await import('./roles/worker.ts')).worker,
  egress: async () => (await import('./roles/egress.ts')).egress,
  controller: async () => (await import('./roles/controller.ts')).controller,
};
type Command = (args: readonly string[], checkout: string) => Promise<string | undefined>;
/** What ends by itself. A result is printed. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  'nats-users': async () => (await import('./cli/nats-users.ts')).natsUsers,
  limits: async () => (await import('./cli/limits.ts')).limits,
  doctor: async () => (await import('./cli/doctor/doctor.ts')).doctor,
  'support-bundle': async () => (await import('./cli/support/bundle.ts')).supportBundle,
  backup: async () => (await import('./cli/data/backup.ts')).backUp,
  restore: async () => (await import('./cli/data/backup.ts')).restore,
  mcp: async () => (await import('./cli/mcp.ts')).mcp,
  models: async () => (await import('./cli/models.ts')).manageModels,
};
/** What follows the last conversion or transfer must end in this time whatever hangs, ms. */
const LAST_RESORT_MS = 1_800;

const checkout = dirname(import.meta.dirname);
const version = versionAt(checkout);

async function main(): Promise<void> {
  const [first, ...rest] = process.argv.slice(2);
  if (isFileCommand(first)) {
    // Its result may still be on its way through a pipe.
    process.exitCode = await runFileCommand(first, rest, checkout);
    return;
  }
  const told = await helpAsked(first, rest);
  if (told !== undefined) {
    print(told);
    return;
  }
  if (first !== undefined && Object.hasOwn(COMMANDS, first)) {
    const printed = await (await COMMANDS[first]?.())?.(rest, checkout).catch((error: unknown) => {
      if (error instanceof CannotStart) end(1, `filemill ${first}: ${error.message}`);
      throw error;
    });
    if (printed !== undefined) print(printed);
    return;
  }
  // Not before: a command on a file has no use for them, and waits for each module.
  const [{ loadConfig }, { createLog }] = await Promise.all([import('./config.ts'), import('./telemetry/log.ts')]);
  const { name, pool } = await asked(process.argv.slice(2));
  const config = loadConfig(pool === undefined ? process.env : { ...process.env, POOL: pool });
  const log = createLog(config.log.level);
  // What a service says may have no reader any more: it goes on serving.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  let running: Running | undefined;
  let stopping = false;
  let uncaught = false;
  const stop = () => {
    // A role may wait at its start, and nothing else ends the first process of a container.
    if (running === undefined) return end(143, 'filemill was stopped before it had started');
    // A second Ctrl-C means now.
    if (stopping) process.exit(130);
    stopping = true;
    tell('filemill is stopping: it finishes the conversions that it can and requeues the others; press Ctrl-C again to stop at once');
    setTimeout(
      () => end(1, 'filemill was stopped early: conversions that were still running will run again'),
      Math.max(config.worker.drainMs, config.api.drainMs) + LAST_RESORT_MS,
    ).unref();
    running.stop().then(
      () => (uncaught ? end(1, 'filemill has stopped after an uncaught error') : end(0, 'filemill has stopped')),
      (error: unknown) => end(1, error),
    );
  };
  // Rejections too. The state of the process is unknown: it begins nothing any more, and what is under way has as long as at any other stop.
  process.on('uncaughtException', (error, origin) => {
    const kind = origin === 'unhandledRejection' ? 'rejection' : 'exception';
    log.fatal({ err: error, kind }, 'an uncaught error stops the role: it must be restarted');
    running?.countUncaught(kind);
    if (uncaught || running === undefined) end(1, error);
    uncaught = true;
    if (!stopping) stop();
  });
  process.on('SIGTERM', stop);
  // The bridge that started this server has died.
  process.on('disconnect', stop);
  running = await (await ROLES[name]())(config, checkout, version);
  void running.ended?.then(
    () => stopping || stop(),
    (error: Error) => stopping || end(1, error.message),
  );
  // Before a word of being ready: a signal that arrives before the process listens for it is lost.
  process.on('SIGINT', stop);
  const where =
    running.port === undefined
      ? `takes orders of the pool ${config.worker.pool}`
      : `serves on ${config.api.publicUrl ?? `http://localhost:${running.port}`}`;
  tell(`filemill ${version} ${where}`);
}

/** @returns what to print where help or the version is asked for */
async function helpAsked(first: string | undefined, rest: readonly string[]): Promise<string | undefined> {
  if (first === '--version' || first === '-v') return versionWith(version, commitOf(checkout));
  const isHelp = (word: string | undefined) => word === '--help' || word === '-h';
  if (first !== 'help' && !isHelp(first) && !rest.some(isHelp)) return undefined;
  if (first === 'help' && rest[0] === '--man') return (await import('./cli/man.ts')).manPage().trimEnd();
  const name = first === 'help' ? rest[0] : first;
  if (isFileCommand(name)) return (await import('./cli/files/help.ts')).helpOfFiles(name, rest.slice(1));
  if (name === undefined || !Object.hasOwn(HELP, name)) return overview(version);
  return helpOf(name, (await import('./config.ts')).VARIABLES);
}

/** Loaded only where a command is mistyped. */
async function nearCommand(name: string): Promise<string> {
  const [{ meantWord }, { FILE_COMMANDS }, { tools }] = await Promise.all([
    import('./cli/files/meaning/meant.ts'),
    import('./cli/usage.ts'),
    import('./catalog/tools.ts'),
  ]);
  return (
    meantWord(name, [...Object.keys(FILE_COMMANDS), ...Object.keys(HELP), 'help']) ||
    meantWord(
      name,
      tools.map(({ slug }) => slug),
      (slug) => `tool ${slug}`,
    ) ||
    '; filemill help lists them'
  );
}

/** @throws ConfigError */
async function asked(args: string[]): Promise<{ readonly name: keyof typeof ROLES; readonly pool: string | undefined }> {
  const usage = `usage: "filemill <role>", where <role> is one of ${Object.keys(ROLES).join(', ')}; "filemill worker --pool <pool>" sets POOL; "filemill nats-users <folder>" writes users for NATS servers; "filemill mcp --server <url>" serves an assistant over standard input and output; "filemill help" shows more`;
  try {
    const { positionals, values } = parseArgs({ args, allowPositionals: true, options: { pool: { type: 'string' } } });
    const [name = 'local', ...more] = positionals;
    const isRole = (found: string): found is keyof typeof ROLES => Object.hasOwn(ROLES, found);
    if (!isRole(name)) end(2, `filemill: there is no command "${printable(name)}"${await nearCommand(name)}`);
    if (more.length === 0 && (values.pool === undefined || name === 'worker')) return { name, pool: values.pool };
  } catch {
    // Told below, as whatever else is said wrongly.
  }
  const { ConfigError } = await import('./config.ts');
  throw new ConfigError([`invalid arguments "${printable(args.join(' '))}"; ${usage}`]);
}

function end(code: number, words: unknown): never {
  tell(words);
  process.exit(code);
}

main().catch((error: unknown) => {
  if (error instanceof Error && error.name === 'ConfigError') end(2, error.message);
  end(1, error instanceof CannotStart ? `filemill cannot start: ${error.message}` : error);
});
