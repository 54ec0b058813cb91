/** `filemill mcp`: a bridge on standard input and output, for assistants on this machine, to a given server or to one that it starts. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { bridgeTo } from '../bridge/bridge.ts';
import { openFolders, PathRefused } from '../bridge/folders.ts';
import { type Server, serverAt } from '../bridge/server.ts';
import { ConfigError } from '../config.ts';
import { type OwnServer, startOwnServer } from '../exec/own-server.ts';
import { printable } from '../printable.ts';
import { asCannotStart } from '../roles/process/cannot-start.ts';
import { optionsOfFlags } from './files/arguments.ts';
import { UsageError } from './files/converter.ts';
import { SERVER_FLAGS, type ServerArguments, serverOf } from './files/server.ts';
import { printJson, tell } from './print.ts';

interface BridgeArguments {
  /** Undefined: the bridge starts one. */
  readonly server: Server | undefined;
  readonly folders: readonly string[];
}

/** @param args of the command line, after the command @returns when the input has ended @throws ConfigError, CannotStart */
export async function mcp(args: readonly string[], checkout: string): Promise<undefined> {
  const { server, folders: allowed } = wanted(args);
  const folders = await openFolders(allowed).catch(asCannotStart(PathRefused));
  const own: OwnServer | undefined = server === undefined ? await startOwnServer(checkout).catch(asCannotStart(Error)) : undefined;
  const { stdin, stdout } = process;
  const to = bridgeTo(server ?? serverAt(own?.url ?? ''), folders, printJson, tell);
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
    const options = { allow: { type: 'string', multiple: true }, ...optionsOfFlags(SERVER_FLAGS) } as const;
    const { values } = parseArgs({ args: [...args], options });
    const { server, ...credentials } = values as ServerArguments & { readonly allow?: readonly string[] };
    // An assistant's configuration may name the endpoint itself.
    const named = serverOf({ ...credentials, server: server?.replace(/\/mcp\/?$/, '') ?? '' });
    return { server: named, folders: credentials.allow ?? [] };
  } catch (error) {
    if (error instanceof UsageError) throw new ConfigError([`${printable(error.message)}; ${usage}`]);
    // The arguments may hold credentials.
    throw new ConfigError([`invalid arguments: ${printable((error as Error).message)}; ${usage}`]);
  }
}
