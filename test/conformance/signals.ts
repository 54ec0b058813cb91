/** What all signals must do where nothing is lost: that they may be lost is for their users to bear. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Signals } from '../../src/signals/signals.ts';
import { jobId, signalled } from './samples.ts';

export interface SignalsHarness {
  /** Where something happens. */
  readonly there: Signals;
  /** Where it is heard of: perhaps another process. */
  readonly here: Signals;
  /** Resolves when every subscription so far gets what is published from now on. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

const job = jobId(1);

export function signalsSuite(name: string, open: () => Promise<SignalsHarness>): void {
  describe(`signals ${name}`, () => {
    let harness: SignalsHarness;
    let here: Signals;
    let there: Signals;
    beforeEach(async () => {
      harness = await open();
      ({ here, there } = harness);
      here.lastProgress(job);
      await harness.settled();
    });
    afterEach(() => harness.close());
    const untilHere = (percent: number | undefined) => vi.waitFor(() => expect(here.lastProgress(job)).toBe(percent), 20_000);

    it('tell how far a job is, as a whole number from 0 to 99 that never falls', async () => {
      const said: Record<number, number> = { [-3]: 0, 12.9: 12, 40: 40, 39: 40, 250: 99 };
      for (const percent of [-3, 12.9, 40, 39, 250]) {
        there.progress(job, percent);
        await untilHere(said[percent]);
      }
    });

    it('know nothing of a job without progress', () => expect(here.lastProgress(jobId(2))).toBeUndefined());

    it('wake the listeners of this job each time it has gone on', async () => {
      let [woken, others] = [0, 0];
      const end = here.onProgress(job, () => woken++);
      here.onProgress(jobId(2), () => others++);
      for (const percent of [10, 10, 10, 20]) there.progress(job, percent);
      await untilHere(20);
      expect([woken, others]).toEqual([2, 0]);
      end();
      end();
      there.progress(job, 30);
      await untilHere(30);
      expect(woken).toBe(2);
    });

    it('forget a job that has ended', async () => {
      there.progress(job, 10);
      await untilHere(10);
      there.ended(job);
      await untilHere(undefined);
    });

    it('ask the worker that runs a job to stop, and no other', async () => {
      const stopped = signalled();
      let others = 0;
      let ended = 0;
      there.onCancel(job, stopped.resolve);
      there.onCancel(jobId(2), () => others++);
      const end = there.onCancel(job, () => ended++);
      end();
      end();
      await harness.settled();
      here.cancel(job);
      await stopped.promise;
      expect([others, ended]).toEqual([0, 0]);
    });

    it('may be sent though no process listens', () => {
      here.cancel(job);
      there.ended(job);
    });
  });
}
