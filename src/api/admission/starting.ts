/** Answers 503 instead of a final refusal while workers that could do what was asked have yet to report. */
import type { Catalog } from '../../catalog/catalog.ts';
import { Failure } from '../../errors.ts';
import type { ApiDeps } from '../deps.ts';

/**
 * @param has whether a catalog has what was asked for
 * @param refusal the answer if no worker that has it is awaited
 */
export function startingOr(deps: Pick<ApiDeps, 'catalog' | 'expected'>, has: (catalog: Catalog) => boolean, refusal: Failure): Failure {
  // They may have reported since the catalog was read.
  const isComing = (deps.expected !== undefined && has(deps.expected)) || has(deps.catalog);
  if (!isComing) return refusal;
  return new Failure('OVERLOADED', {
    says: 'No worker that can run this conversion has started yet: try again in a moment.',
    cause: refusal,
  });
}
