/** Opens the converter, on this machine or on a server. It is loaded late, so that wrong arguments are reported at once. */
import { availableParallelism } from 'node:os';
import type { FileArguments } from './arguments.ts';
import type { Converter, LikelyWork } from './converter.ts';

/** @param files how many conversions there will be @throws CannotStart */
export async function openConverter(
  { server, jobs }: Pick<FileArguments, 'server' | 'jobs'>,
  files: number,
  checkout: string,
  likely?: LikelyWork,
): Promise<Converter> {
  if (server !== undefined) return (await import('./there.ts')).openThere(server, jobs);
  return (await import('./here.ts')).openHere(checkout, Math.min(jobs ?? availableParallelism(), files), likely);
}
