/** The server that arguments and environment name, and the credentials for it. */
import { readFileSync } from 'node:fs';
import { InvalidServer, type Server, serverAt } from '../../bridge/server.ts';
import { UsageError } from './converter.ts';

export const SERVER_FLAGS = {
  server: { type: 'string', means: 'URL of a filemill server that converts; default: FILEMILL_SERVER, or this machine' },
  header: {
    type: 'string',
    multiple: true,
    means: 'header that the server is sent, as "Name: value", or @FILE with one a line; may be repeated',
  },
  'token-file': { type: 'string', means: 'file whose first line is the token that the server is sent; default: FILEMILL_TOKEN' },
} as const;

export interface ServerArguments {
  readonly server?: string | undefined;
  readonly header?: readonly string[] | undefined;
  readonly 'token-file'?: string | undefined;
}

/** @returns undefined where none is named @throws UsageError, which shows no credentials */
export function serverOf({ server, header = [], 'token-file': tokenFile }: ServerArguments): Server | undefined {
  const address = server ?? process.env['FILEMILL_SERVER'] ?? '';
  if (address === '') {
    if (header.length === 0 && tokenFile === undefined) return undefined;
    throw new UsageError(`--${header.length > 0 ? 'header' : 'token-file'} is for a server: name it with --server`);
  }
  const token = tokenFile === undefined ? process.env['FILEMILL_TOKEN'] || undefined : firstLine(tokenFile, 'token');
  try {
    return serverAt(address, { headers: header.flatMap(headersIn), token });
  } catch (error) {
    throw error instanceof InvalidServer ? new UsageError(error.message) : error;
  }
}

const headersIn = (sent: string): readonly string[] =>
  sent.startsWith('@') ? linesOf(sent.slice(1), 'header').filter((line) => line.trim() !== '') : [sent];

/** @param what the file holds @throws UsageError */
export const firstLine = (path: string, what: string): string => linesOf(path, what)[0] ?? '';

function linesOf(path: string, what: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split(/\r?\n/);
  } catch (error) {
    throw new UsageError(`the ${what} file ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}
