/** Opens who converts: loaded only now, so that a mistake in the arguments is told at once. */
import type { FileArguments } from './arguments.ts';
import type { Converter } from './converter.ts';

/** @throws CannotStart */
export async function openConverter({ server, jobs }: Pick<FileArguments, 'server' | 'jobs'>, checkout: string): Promise<Converter> {
  if (server !== undefined) return (await import('./there.ts')).openThere(server, jobs);
  return (await import('./here.ts')).openHere(checkout, jobs);
}
