/** Classifies the error of a failed trial, for operators and clients. Pure. */
import type { Defect } from '../../contracts/messages/fault.ts';
import { Failure } from '../../errors.ts';
import { LauncherFailed } from '../failure.ts';

/**
 * The words of glibc's dynamic loader (ld.so), Node, sharp and Python for a part of a program that is not there, or is of another platform. Their
 * exit codes do not tell.
 */
const CANNOT_LOAD = [
  'error while loading shared libraries',
  'symbol lookup error',
  'cannot open shared object file',
  'file too short',
  'invalid ELF header',
  'not found (required by',
  'ERR_MODULE_NOT_FOUND',
  'ERR_DLOPEN_FAILED',
  'Could not load the "sharp" module',
  'ModuleNotFoundError',
  'ImportError',
] as const;

export function defectOf(error: unknown): Defect {
  if (cannotLoad(error)) return 'cannot_load';
  if (causes(error).some((cause) => cause instanceof LauncherFailed)) return 'cannot_start';
  switch (error instanceof Failure ? error.details['reason'] : undefined) {
    case 'timeout':
      return 'timeout';
    case 'memory':
      return 'memory';
    case 'engine_crashed':
      return 'crashed';
    case 'output_invalid':
      return 'wrong_output';
    default:
      return 'failed';
  }
}

/** Whether a program has said that it could not load a part of itself. */
export const cannotLoad = (error: unknown): boolean =>
  causes(error).some(({ message }) => CANNOT_LOAD.some((words) => message.includes(words)));

/** The error and the chain of its causes. */
function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let at = error; at instanceof Error && chain.length < LONGEST_CHAIN; at = at.cause) chain.push(at);
  return chain;
}

const LONGEST_CHAIN = 20;
