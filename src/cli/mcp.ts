/** `filemill mcp`: a bridge on standard input and output, for assistants on this machine, to a given server or to one that it starts. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { bridgeTo } from '../bridge/bridge.ts';
import { openFolders, PathRefused } from '../bridge/folders.ts';
import { ConfigError } from '../config.ts';
import { type OwnServer, startOwnServer } from '../exec/own-server.ts';
import { asCannotStart } from '../roles/process/cannot-start.ts';

interface BridgeArguments {
  /** Without `/mcp`; undefined: the bridge starts one. */
  readonly server: string | undefined;
  readonly folders: readonly string[];
}

/** @param args of the command line, after the command @returns when the input has ended @throws ConfigError, CannotStart */
export async function mcp(args: readonly string[], checkout: string): Promise<undefined> {
  const { server, folders: allowed } = wanted(args);
  const folders = await openFolders(allowed).catch(asCannotStart(PathRefused));
  const own: OwnServer | undefined = server === undefined ? await startOwnServer(checkout).catch(asCannotStart(Error)) : undefined;
  const { stdin, stdout } = process;
  const to = bridgeTo(server ?? own?.url ?? '', folders, (message) => stdout.write(`${JSON.stringify(message)}\n`), console.error);
  const lines = createInterface({ input: stdin });
  const closed = once(lines, 'close');
  const stop = () => lines.close();
  // The client closed its end first.
  stdout.on('error', stop);
  process.stderr.on('error', stop);
  process.once('SIGTERM', stop).once('SIGINT', stop);
  void own?.ended.then(stop);
  lines.on('line', (line) => line.trim() !== '' && void to.take(line));
  await closed;
  to.close();
  stdin.destroy();
  await own?.stop();
}

/** @throws ConfigError */
function wanted(args: readonly string[]): BridgeArguments {
  const usage = `usage: "filemill mcp --server https://your-host --allow FOLDER"; without --server it starts its own server; --allow may be repeated, and without one no local file is read or written`;
  try {
    const options = { server: { type: 'string' }, allow: { type: 'string', multiple: true } } as const;
    const { values } = parseArgs({ args: [...args], options });
    const server = values.server?.replace(/\/(?:mcp\/?)?$/, '');
    const isServer = server === undefined || /^https?:$/.test(URL.parse(server)?.protocol ?? '');
    if (isServer) return { server, folders: values.allow ?? [] };
  } catch {
    // Told below.
  }
  throw new ConfigError([`invalid arguments "${args.join(' ')}"; ${usage}`]);
}
