/** Moves a recipe from the pool that has done its part to the one that goes on. Where this fails or nothing asks for it, upkeep does the same later. */
import { Failure, RevisionConflict } from '../../errors.ts';
import { isLeaving } from '../../jobs/lifecycle.ts';
import { jobKeys, outputKey } from '../../objects/keys.ts';
import type { ApiDeps } from '../deps.ts';
import { enqueue } from '../submit/enqueue.ts';

type ForwardDeps = Pick<ApiDeps, 'jobs' | 'catalogue'> & { readonly files: Pick<ApiDeps['files'], 'objects'> };

/** @returns may be called at any time, for any job, and several times */
export function forwarding(deps: ForwardDeps): (jobId: string) => Promise<void> {
  const { store } = deps.jobs;
  const { objects } = deps.files;
  return async (jobId) => {
    const found = await store.get(jobId);
    const recipe = found?.record.recipe;
    if (found === undefined || recipe === undefined || !isLeaving(found.record)) return;
    try {
      // Every replica is asked, and one of them moves the record.
      const stored = await store.move(found.record, found.revision);
      // What went into the last stint is in what came out of it. Before the order is published, no attempt writes there.
      for await (const { key } of objects.scan(jobKeys(jobId)))
        if (key.startsWith(outputKey(jobId, '')) && key !== recipe.carried?.key) await objects.delete(key);
      await enqueue(deps, { stored, isQueued: false }, recipe.client);
    } catch (error) {
      // Upkeep or another replica was faster; or its queue is full, and upkeep publishes the order later.
      if (error instanceof RevisionConflict || (error instanceof Failure && error.code === 'OVERLOADED')) return;
      throw error;
    }
  };
}
