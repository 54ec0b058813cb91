/** Answers 503 instead of a final refusal while workers that could do what was asked have yet to report. */
import type { Catalog } from '../../catalog/catalog.ts';
import { Failure } from '../../errors.ts';
import type { ApiDeps } from '../deps.ts';

/** What is there now, and what is awaited. */
export interface CatalogueDeps {
  readonly catalogue: Pick<ApiDeps['catalogue'], 'current' | 'expected'>;
}

/**
 * @param has whether a catalog has what was asked for
 * @param refusal the answer if no worker that has it is awaited
 */
export function startingOr({ catalogue }: CatalogueDeps, has: (catalog: Catalog) => boolean, refusal: Failure): Failure {
  // They may have reported since the catalog was read.
  const isComing = (catalogue.expected !== undefined && has(catalogue.expected)) || has(catalogue.current);
  if (!isComing) return refusal;
  return new Failure('OVERLOADED', {
    says: 'No worker that can run this conversion has started yet: try again in a moment.',
    cause: refusal,
  });
}
