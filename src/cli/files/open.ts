/** Opens the converter, on this machine or on a server. It is loaded late, so that wrong arguments are reported at once. */
import { availableParallelism } from 'node:os';
import { SUFFIX } from '../../catalog/names.ts';
import { tell } from '../print.ts';
import type { FileArguments } from './arguments.ts';
import type { Converter, LikelyWork } from './converter.ts';

/** @param files how many conversions there will be @throws CannotStart */
export async function openConverter(
  { server, jobs, quiet }: Pick<FileArguments, 'server' | 'jobs' | 'quiet'>,
  files: number,
  checkout: string,
  likely?: LikelyWork,
): Promise<Converter> {
  if (server !== undefined && process.stderr.isTTY && !quiet)
    tell(`filemill: the files go to ${server.url}${isOpen(server.url) ? ', not encrypted' : ''}`);
  if (server !== undefined) return (await import('./there.ts')).openThere(server, jobs);
  return (await import('./here.ts')).openHere(checkout, Math.min(jobs ?? availableParallelism(), files), likely);
}

/** What is put behind the name of a result that would have its source's: as the configuration of this machine says, where it counts. */
export async function suffixFor(server: FileArguments['server']): Promise<string> {
  if (server !== undefined || !process.env['CONFIG_FILE']) return SUFFIX;
  const { loadConfig } = await import('../../config.ts');
  return loadConfig(process.env).output.suffix;
}

/** Whether others on the way could read what is sent. */
const isOpen = (url: string): boolean => /^http:\/\/(?!localhost\b|127\.|\[::1\])/i.test(url);
