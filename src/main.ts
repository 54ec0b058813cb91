/** `filemill <role>`: reads the configuration, starts the role, and ends it in good order. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError, loadConfig } from './config.ts';
import { api } from './roles/api.ts';
import { CannotStart } from './roles/cannot-start.ts';
import { local } from './roles/local.ts';
import { worker } from './roles/worker.ts';

const ROLES = { local, api, worker };
/** Ctrl-C must end in this time whatever hangs, ms. */
const LAST_RESORT_MS = 9_800;

const checkout = dirname(import.meta.dirname);
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string };

async function main(): Promise<void> {
  const name = process.argv[2] ?? 'local';
  if (!Object.hasOwn(ROLES, name)) throw new ConfigError([`the role is one of ${Object.keys(ROLES).join(', ')}; found "${name}"`]);
  const config = loadConfig(process.env);
  const running = await ROLES[name as keyof typeof ROLES](config, checkout, version);
  const where =
    running.port === undefined
      ? `takes orders of the pool ${config.worker.pool}`
      : `serves on ${config.api.publicUrl ?? `http://localhost:${running.port}`}`;
  console.error(`filemill ${version} ${where}`);
  let stopping = false;
  const stop = () => {
    // A second Ctrl-C means now.
    if (stopping) process.exit(130);
    stopping = true;
    console.error('filemill finishes what it can in a few seconds and gives the rest back; once more to end at once');
    setTimeout(() => end(1, 'filemill was cut short: what still ran will run again'), LAST_RESORT_MS).unref();
    running.stop().then(
      () => end(0, 'filemill has stopped'),
      (error: unknown) => end(1, error),
    );
  };
  void running.ended?.then(stop);
  process.on('SIGINT', stop).on('SIGTERM', stop);
}

function end(code: number, words: unknown): never {
  console.error(words);
  process.exit(code);
}

main().catch((error: unknown) => {
  if (error instanceof ConfigError) end(2, error.message);
  end(1, error instanceof CannotStart ? `filemill cannot start: ${error.message}` : error);
});
