/** Waiting for a job's end: however many wait, the store is asked as if one did. */
import { describe, expect, it } from 'vitest';
import { waitForEnd } from '../../../src/api/jobs/wait.ts';
import type { JobRecord } from '../../../src/jobs/record.ts';
import type { JobStore } from '../../../src/jobs/store.ts';
import { aRecord } from '../../conformance/samples.ts';

/** A store of one record, which counts how often it is read. */
function storeOf(first: JobRecord | undefined) {
  const listeners = new Set<() => void>();
  const state = { record: first, reads: 0, fails: false };
  const jobs = {
    async get() {
      state.reads++;
      if (state.fails) throw new Error('the store is gone');
      return state.record === undefined ? undefined : { record: state.record, revision: 1 };
    },
    watch(_id: string, changed: () => void) {
      listeners.add(changed);
      return () => void listeners.delete(changed);
    },
  } as unknown as JobStore;
  const change = (record: JobRecord | undefined) => {
    state.record = record;
    for (const listener of listeners) listener();
  };
  return { jobs, state, listeners, change };
}

const never = new AbortController().signal;

describe('300 requests that wait for one job', () => {
  it('share its reads, and hear all of its end', async () => {
    const record = aRecord({ state: 'running' });
    const { jobs, state, listeners, change } = storeOf(record);
    const all = Array.from({ length: 300 }, () => waitForEnd(jobs, record.id, 60_000, never));
    await new Promise((resolve) => setImmediate(resolve));
    expect(listeners.size).toBe(1);
    change({ ...record, state: 'done' });
    expect(new Set((await Promise.all(all)).map((found) => found?.state))).toEqual(new Set(['done']));
    expect(state.reads).toBeLessThan(5);
    expect(listeners.size).toBe(0);
  });

  it('hear of a store that cannot be read', async () => {
    const { jobs, state } = storeOf(aRecord());
    state.fails = true;
    const all = Array.from({ length: 300 }, () => waitForEnd(jobs, 'a', 60_000, never));
    expect(new Set((await Promise.allSettled(all)).map(({ status }) => status))).toEqual(new Set(['rejected']));
  });
});

it('a request that comes while the record is read gets the result of a later read', async () => {
  const { jobs, state, change } = storeOf(undefined);
  const early = waitForEnd(jobs, 'a', 60_000, never);
  const done = aRecord({ id: 'a', state: 'done' });
  state.record = done;
  const late = waitForEnd(jobs, 'a', 60_000, never);
  change(done);
  expect(await early).toBeUndefined();
  expect(await late).toEqual(done);
});

it('a hint that was lost is made up for', async () => {
  const record = aRecord({ state: 'running' });
  const { jobs, state } = storeOf(record);
  const waiting = waitForEnd(jobs, record.id, 60_000, never);
  await new Promise((resolve) => setImmediate(resolve));
  state.record = { ...record, state: 'done' };
  expect((await waiting)?.state).toBe('done');
});

it.each([
  ['its time is over', (jobs: JobStore) => waitForEnd(jobs, 'a', 1, never)],
  ['it is not to wait', (jobs: JobStore) => waitForEnd(jobs, 'a', 0, never)],
  ['the client has gone', (jobs: JobStore) => waitForEnd(jobs, 'a', 60_000, AbortSignal.abort())],
])('hears how the job stands when %s', async (_, wait) => {
  const { jobs, listeners } = storeOf(aRecord({ state: 'running' }));
  expect((await wait(jobs))?.state).toBe('running');
  expect(listeners.size).toBe(0);
});
