/** The one list of what this browser has chosen, has running and has done: every view shows it, or a part of it. */
import { computed, effect, signal } from '@preact/signals';
import { forget, known, watchHistory } from './history.ts';
import { deleteJobs, isActive, resume, stop, type Task, taskOfKnown } from './tasks.ts';

/** The newest first; files that were chosen together in their order. */
export const list = signal<readonly Task[]>([]);

const isReady = ({ state }: Task): boolean => state.value.at === 'ready';

/** Above all that was begun, and below what is chosen already. */
export function add(fresh: readonly Task[]): void {
  const first = list.value.findIndex((task) => !isReady(task));
  const before = first < 0 ? list.value.length : first;
  list.value = list.value.toSpliced(before, 0, ...fresh);
}

/** Takes them from the list, stops what is under way, and deletes what the service has of them. */
export function remove(gone: readonly Task[]): void {
  for (const task of gone) stop(task);
  const ids = gone.flatMap(({ jobId }) => (jobId === undefined ? [] : [jobId]));
  const all = new Set(gone);
  list.value = list.value.filter((task) => !all.has(task));
  if (ids.length > 0) deleteJobs(ids);
}

/** Only the newest of what is done is asked for: the service counts questions. */
const MOST_ASKED = 100;

/** Takes in what another visit or tab has begun, and leaves out what was deleted there, or has expired. */
function reconcile(): void {
  const stored = new Map(known.value.map((job) => [job.id, job]));
  const mine = list.value.filter((task) => task.jobId === undefined || stored.has(task.jobId) || isActive(task));
  for (const { jobId } of mine) stored.delete(jobId ?? '');
  const fresh = [...stored.values()].map(taskOfKnown);
  if (fresh.length === 0 && mine.length === list.value.length) return;
  list.value = mine;
  add(fresh);
  let asked = 0;
  for (const task of fresh)
    if (isActive(task) || asked++ < MOST_ASKED)
      resume(task, () => {
        list.value = list.value.filter((each) => each !== task);
        forget([task.jobId ?? '']);
      });
}

/** Their files are nowhere but here. A job goes on without the page. */
const isSending = computed(() => list.value.some(({ state }) => ['queued', 'uploading', 'submitting'].includes(state.value.at)));
const ask = (event: BeforeUnloadEvent): void => event.preventDefault();

/** From here on the list is that of this browser, and leaving while something uploads asks first. */
export function watchList(): void {
  watchHistory(reconcile);
  effect(() => {
    if (isSending.value) addEventListener('beforeunload', ask);
    else removeEventListener('beforeunload', ask);
  });
}
