/** Failures of conversions: which engine failed, and whether the cause lies in the worker rather than in the file. */
import type { Engine } from '../catalog/engine.ts';
import type { FaultReason } from '../contracts/messages/fault.ts';
import { Failure } from '../errors.ts';

/** @throws what `work` throws, with `details.engine` added to a Failure `CONVERSION_FAILED` */
export async function namingEngine<T>({ name }: Engine, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'CONVERSION_FAILED') throw error;
    const { message, details, cause } = error;
    throw new Failure('CONVERSION_FAILED', { says: message, details: { engine: name, ...details }, cause });
  }
}

/** The launcher could not confine the program, or the program has been removed. The file was never read. */
export class LauncherFailed extends Error {
  override readonly name = 'LauncherFailed';
}

/** No engine installed on this worker does the conversion; one on another worker may. */
export class EngineAbsent extends Error {
  override readonly name = 'EngineAbsent';
}

/** An engine failed on a file, and then on a known good one: nothing is known of the file. */
export class EngineBroken extends Error {
  override readonly name = 'EngineBroken';
}

/** @returns whether an engine is to blame that does not work, judged by the error and its chain of causes */
export function isEngineBroken(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof EngineBroken) return true;
  return false;
}

const FAULTS: Readonly<Record<string, FaultReason>> = {
  ENOSPC: 'disk_full',
  EDQUOT: 'disk_full',
  EIO: 'disk_broken',
  EROFS: 'disk_broken',
  EMFILE: 'descriptors',
  ENFILE: 'descriptors',
};
/** glibc's messages for a full disk. Programs print them to stderr; their exit codes do not tell. */
const NO_SPACE = /No space left on device|Disk quota exceeded/;

/** @returns what is wrong with the worker, judged by the error and its chain of causes; undefined where nothing points to the worker */
export function classifyError(error: unknown): FaultReason | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof LauncherFailed) return 'launcher';
    if (at instanceof EngineAbsent) return 'engine_missing';
    const { code } = at as NodeJS.ErrnoException;
    if (code !== undefined && Object.hasOwn(FAULTS, code)) return FAULTS[code];
    if (NO_SPACE.test(at.message)) return 'disk_full';
  }
  return undefined;
}
