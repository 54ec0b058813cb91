/** Whose work failed: a failed conversion names its engine. */
import type { Engine } from '../catalog/engine.ts';
import { Failure } from '../errors.ts';

/** @throws what `work` throws; a Failure `CONVERSION_FAILED` with `details.engine` */
export async function blaming<T>({ name }: Engine, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'CONVERSION_FAILED') throw error;
    const { message: says, details, cause } = error;
    throw new Failure('CONVERSION_FAILED', { says, details: { engine: name, ...details }, cause });
  }
}
