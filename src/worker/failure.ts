/** Whose work failed: a failed conversion names its engine. */
import type { Engine } from '../catalog/engine.ts';
import type { FaultReason } from '../contracts/messages/fault.ts';
import { Failure } from '../errors.ts';

/** @throws what `work` throws; a Failure `CONVERSION_FAILED` with `details.engine` */
export async function namingEngine<T>({ name }: Engine, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'CONVERSION_FAILED') throw error;
    const { message: says, details, cause } = error;
    throw new Failure('CONVERSION_FAILED', { says, details: { engine: name, ...details }, cause });
  }
}

/** Not even a trivial program could have been confined, or the program is not there any more: the file was never looked at. */
export class LauncherFailed extends Error {
  override readonly name = 'LauncherFailed';
}

/** No engine that is installed here does the conversion: another worker's may. */
export class EngineAbsent extends Error {
  override readonly name = 'EngineAbsent';
}

const FAULTS: Readonly<Record<string, FaultReason>> = {
  ENOSPC: 'disk_full',
  EDQUOT: 'disk_full',
  EIO: 'disk_broken',
  EROFS: 'disk_broken',
  EMFILE: 'descriptors',
  ENFILE: 'descriptors',
};
/** What programs say of a full disk, in glibc's words: their exit code tells nothing of it. */
const NO_SPACE = /No space left on device|Disk quota exceeded/;

/** What in the worker's surroundings failed the conversion, by the error and all that it was caused by. */
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
