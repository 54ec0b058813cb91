/** Opens the converter, on this machine or on a server. It is loaded late, so that wrong arguments are reported at once. */
import type { FileArguments } from './arguments.ts';
import type { Converter, LikelyWork } from './converter.ts';

/** @throws CannotStart */
export async function openConverter(
  { server, jobs }: Pick<FileArguments, 'server' | 'jobs'>,
  checkout: string,
  likely?: LikelyWork,
): Promise<Converter> {
  if (server !== undefined) return (await import('./there.ts')).openThere(server, jobs);
  return (await import('./here.ts')).openHere(checkout, jobs, likely);
}
