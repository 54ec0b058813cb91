/** `filemill <role>`: reads the configuration, starts the role, and ends it in good order. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError, loadConfig } from './config.ts';
import { local } from './roles/local.ts';

const ROLES = { local };
/** Ctrl-C must end in this time whatever hangs, ms. */
const LAST_RESORT_MS = 10_000;

const checkout = dirname(import.meta.dirname);
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string };

async function main(): Promise<void> {
  const name = process.argv[2] ?? 'local';
  if (!Object.hasOwn(ROLES, name)) throw new ConfigError([`the role is one of ${Object.keys(ROLES).join(', ')}; found "${name}"`]);
  const config = loadConfig(process.env);
  const running = await ROLES[name as keyof typeof ROLES](config, checkout, version);
  console.error(`filemill ${version} serves on ${config.api.publicUrl ?? `http://localhost:${running.port}`}`);
  let stopping = false;
  const stop = () => {
    // A second Ctrl-C means now.
    if (stopping) process.exit(130);
    stopping = true;
    setTimeout(() => process.exit(1), LAST_RESORT_MS).unref();
    running.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
}

main().catch((error: unknown) => {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exit(error instanceof ConfigError ? 2 : 1);
});
