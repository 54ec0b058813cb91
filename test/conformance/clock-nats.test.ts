/** The servers' time, as a process learns it whose own clock is wrong. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ensureJobs, JOBS_STREAM } from '../../src/jobs/nats/jobs.ts';
import { type NatsClock, openClock } from '../../src/nats/clock.ts';
import type { Nats } from '../../src/nats/connection.ts';
import { type Servers, startNats } from '../kit/nats/nats.ts';

/** The right time, whatever `Date` is made to say. */
const truth = (): number => performance.timeOrigin + performance.now();
const NEAR_MS = 500;

let servers: Servers;
let nats: Nats;
let clock: NatsClock | undefined;
beforeEach(async () => {
  servers = await startNats();
  nats = await servers.connect();
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('1999-12-31T23:59:59Z') });
});
afterEach(async () => {
  vi.useRealTimers();
  clock?.close();
  await servers.stop();
});
const expectTruth = () => expect(Math.abs((clock?.now() ?? 0) - truth())).toBeLessThan(NEAR_MS);

it('is right where the own clock is not, and stays right when that is set', async () => {
  await ensureJobs(nats, 1);
  clock = await openClock(nats, JOBS_STREAM);
  expectTruth();
  vi.setSystemTime(new Date('2038-01-19T03:14:08Z'));
  expectTruth();
});

it('is waited for until another process has created the stream', async () => {
  const opening = openClock(nats, JOBS_STREAM);
  await ensureJobs(await servers.connect(), 1);
  clock = await opening;
  expectTruth();
});

it('goes on while the servers are away', async () => {
  await ensureJobs(nats, 1);
  clock = await openClock(nats, JOBS_STREAM);
  await servers.kill();
  expectTruth();
});
