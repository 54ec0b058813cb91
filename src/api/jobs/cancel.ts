/** Cancels a job in any state, and removes its files. */
import { Failure, RevisionConflict } from '../../errors.ts';
import { cancel, FETCHING, hasEnded, visibility } from '../../jobs/lifecycle.ts';
import type { ApiDeps } from '../deps.ts';
import { deleteInputs } from '../intake/inputs.ts';

const CAS_TRIES = 10;

/** May be repeated while the tombstone is kept. @throws Failure `JOB_NOT_FOUND` */
export async function cancelJob({ jobs, files }: Pick<ApiDeps, 'jobs' | 'files'>, id: string): Promise<void> {
  const { store, queue, signals, clock } = jobs;
  const { objects } = files;
  for (let tries = 0; tries < CAS_TRIES; tries++) {
    const stored = await store.get(id);
    if (stored === undefined || visibility(stored.record, clock()) === 'forgotten') throw new Failure('JOB_NOT_FOUND');
    const { record, revision } = stored;
    if (record.state === 'cancelled') return;
    try {
      await store.update(cancel(record, clock()), revision);
    } catch (error) {
      if (error instanceof RevisionConflict) continue;
      throw error;
    }
    signals.cancel(id);
    signals.ended(id);
    await Promise.all([
      !hasEnded(record) && record.pool !== FETCHING && queue.remove(record.pool, id),
      deleteInputs(objects, record),
      record.output !== undefined && objects.delete(record.output.key),
    ]);
    return;
  }
  throw new Error(`the record of ${id} could not be written in ${CAS_TRIES} tries`);
}
