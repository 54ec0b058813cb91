/** A filemill server for one bridge: a separate process, on a free port of this machine alone, with a data folder that goes with it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { printableLines } from '../printable.ts';

export interface OwnServer {
  readonly url: string;
  readonly ended: Promise<unknown>;
  stop(): Promise<void>;
}

/** Reading the versions of all converters takes seconds on a busy machine, ms. */
const START_MS = 60_000;
/** How long it may take to stop before it is killed, ms. */
const STOP_MS = 10_000;

/** Its output is passed on to standard error: standard output belongs to the client. @throws Error with a sentence where it does not start */
export async function startOwnServer(checkout: string): Promise<OwnServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'filemill-mcp-'));
  // Converters run as other users where this one is root.
  if (process.getuid?.() === 0) await chmod(dataDir, 0o755);
  const child = spawn(process.execPath, [...process.execArgv, join(checkout, 'src/main.ts'), 'local'], {
    env: { LOG_LEVEL: 'warn', LIMITS_ENABLED: 'false', ...process.env, PORT: '0', LISTEN_ADDRESS: '127.0.0.1', DATA_DIR: dataDir },
    // The channel carries nothing: its end tells the server that this process has died.
    stdio: ['ignore', 2, 'pipe', 'ipc'],
  });
  const ended = once(child, 'exit').then(() => rm(dataDir, { recursive: true, force: true }));
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(late);
  };
  const serving = new Promise<string | undefined>((resolve) => {
    const errors = child.stderr;
    if (errors === null) throw new Error('the child has a pipe there');
    createInterface({ input: errors }).on('line', (line) => {
      process.stderr.write(`${printableLines(line)}\n`);
      const port = /serves on http:\/\/localhost:(\d{1,5})/.exec(line)?.[1];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    });
    void ended.then(() => resolve(undefined));
    setTimeout(resolve, START_MS, undefined).unref();
  });
  const url = await serving;
  if (url !== undefined) return { url, ended, stop };
  await stop();
  throw new Error('the server that this bridge started has failed: see its output above');
}
