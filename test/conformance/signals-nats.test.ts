/** Signals over NATS, from one process to another, held to their suite, and what is special about them. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Nats } from '../../src/nats/connection.ts';
import { natsSignals, type SharedSignals } from '../../src/signals/nats.ts';
import { type Servers, startNats } from '../kit/nats/nats.ts';
import { jobId } from './samples.ts';
import { signalsSuite } from './signals.ts';

let servers: Servers;
let connections: readonly [Nats, Nats];
beforeAll(async () => {
  servers = await startNats();
  connections = [await servers.connect(), await servers.connect()];
});
afterAll(() => servers.stop());
const settled = async () => {
  for (const { core } of connections) await core.flush();
};

/** Closed after each test: what runs repeats its progress, which the next test would take for its own. */
const opened: SharedSignals[] = [];
const open = (nats: Nats): SharedSignals => {
  const signals = natsSignals(nats);
  opened.push(signals);
  return signals;
};
afterEach(() => {
  for (const signals of opened.splice(0)) signals.close();
});

signalsSuite('over NATS', async () => ({ here: open(connections[0]), there: open(connections[1]), settled, close: async () => {} }));

describe('signals over NATS', () => {
  it('remember no more jobs than a bound, whatever is said', async () => {
    const [here, there] = [open(connections[0]), open(connections[1])];
    here.lastProgress(jobId(0));
    await settled();
    for (let n = 0; n <= 10_000; n++) there.progress(jobId(n), 1);
    await vi.waitFor(() => expect(here.lastProgress(jobId(10_000))).toBe(1), 20_000);
    expect(here.lastProgress(jobId(0))).toBeUndefined();
    expect(here.lastProgress(jobId(1))).toBe(1);
  });

  it('ignore malformed progress, and cancel no job by a name that is a pattern', async () => {
    const [here, there] = [open(connections[0]), open(connections[1])];
    let cancelled = 0;
    there.onCancel(jobId(1), () => cancelled++);
    here.lastProgress(jobId(1));
    await settled();
    for (const text of ['', '-1', '1e9', 'NaN', '{}']) connections[1].core.publish(`signal.progress.${jobId(1)}`, text);
    for (const name of ['*', '>', `x.${jobId(1)}`, '']) here.cancel(name);
    there.progress(jobId(1), 5);
    await vi.waitFor(() => expect(here.lastProgress(jobId(1))).toBe(5), 20_000);
    await settled();
    expect(cancelled).toBe(0);
  });

  it('tell a process that starts later what the others have heard, and one that was away', async () => {
    const others = await Promise.all([servers.connect(), servers.connect()]);
    const [worker, first] = [open(connections[1]), open(connections[0])];
    await first.join();
    worker.progress(jobId(21), 60);
    worker.leave(jobId(21));
    await vi.waitFor(() => expect(first.lastProgress(jobId(21))).toBe(60), 20_000);
    const second = open(others[0]);
    await second.join();
    expect(second.lastProgress(jobId(21))).toBe(60);
    // The next worker begins again.
    const next = open(others[1]);
    next.progress(jobId(21), 5);
    next.progress(jobId(22), 70);
    next.leave(jobId(22));
    await vi.waitFor(() => expect([first, second].map((it) => it.lastProgress(jobId(22)))).toEqual([70, 70]), 20_000);
    expect([first, second].map((it) => it.lastProgress(jobId(21)))).toEqual([60, 60]);
  });

  it('say again how far a job is while it is worked on, and no more afterwards', async () => {
    const worker = open(connections[1]);
    worker.progress(jobId(3), 40);
    await settled();
    const here = open(connections[0]);
    await here.join();
    await vi.waitFor(() => expect(here.lastProgress(jobId(3))).toBe(40), 20_000);
    worker.leave(jobId(3));
    worker.ended(jobId(3));
    await vi.waitFor(() => expect(here.lastProgress(jobId(3))).toBeUndefined(), 20_000);
  });

  it('say nothing while there is no server, and go on when there is one', async () => {
    const [here, there] = [open(connections[0]), open(connections[1])];
    here.lastProgress(jobId(1));
    await settled();
    await servers.kill();
    await vi.waitFor(() => expect(connections.some((nats) => nats.isConnected())).toBe(false), 20_000);
    there.progress(jobId(1), 10);
    here.cancel(jobId(1));
    here.ended(jobId(2));
    await servers.restart();
    await vi.waitFor(() => expect(connections.every((nats) => nats.isConnected())).toBe(true), 20_000);
    await settled();
    there.progress(jobId(1), 20);
    await vi.waitFor(() => expect(here.lastProgress(jobId(1))).toBe(20), 20_000);
  });
});
