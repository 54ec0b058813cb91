/** Where the workers for something have yet to report, the answer is to try again, and not that there is no such thing here. */
import type { Catalog } from '../../catalog/catalog.ts';
import { Failure } from '../../errors.ts';
import type { ApiDeps } from '../deps.ts';

/**
 * @param has whether a catalog has what was asked for
 * @param otherwise the answer where nobody who has it is awaited
 */
export function startingOr({ expected }: Pick<ApiDeps, 'expected'>, has: (catalog: Catalog) => boolean, otherwise: Failure): Failure {
  if (expected === undefined || !has(expected)) return otherwise;
  return new Failure('OVERLOADED', { says: 'The workers that this needs are about to start: try again in a moment.', cause: otherwise });
}
