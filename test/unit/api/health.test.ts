/** Health costs the queues one reading a second, however many ask for it. */
import fastify from 'fastify';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ApiDeps } from '../../../src/api/deps.ts';
import { healthRoutes } from '../../../src/api/health/route.ts';
import { createCatalog } from '../../../src/catalog/catalog.ts';
import type { Depth } from '../../../src/queue/queue.ts';

const CALLERS = 50;
const EMPTY: Depth = { waiting: 0, held: 0, oldestMs: undefined };

/** A service with one pool, whose queue counts how often it is asked. */
function aService() {
  const state = { asked: 0, fails: false };
  const depth = async () => {
    state.asked++;
    await Promise.resolve();
    if (state.fails) throw new Error('no responders');
    return EMPTY;
  };
  const app = fastify();
  healthRoutes(app, {
    jobs: { queue: { depth }, clock: () => 0 },
    files: {},
    catalogue: {
      current: createCatalog([]),
      missing: [],
      pools: new Map([['image', { name: 'image', workers: 1, busy: 0, engines: new Map() }]]),
    },
    telemetry: { metrics: { onScrape() {} } },
    service: { settings: { metricsPort: 1 } },
  } as unknown as ApiDeps);
  const health = async () => (await app.inject('/api/v1/health')).json().data;
  return { state, health };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

it('requests at the same time, and within a second, share one reading', async () => {
  const { state, health } = aService();
  const all = await Promise.all(Array.from({ length: CALLERS }, health));
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set(['ok']));
  vi.advanceTimersByTime(900);
  await health();
  expect(state.asked).toBe(1);
  vi.advanceTimersByTime(200);
  expect(await health()).toMatchObject({ status: 'ok', queue: { image: { waiting: 0 } } });
  expect(state.asked).toBe(2);
});

it('a reading that failed is shared while it runs, and not kept', async () => {
  const { state, health } = aService();
  state.fails = true;
  const all = await Promise.all(Array.from({ length: CALLERS }, health));
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set(['degraded']));
  expect(state.asked).toBeLessThan(CALLERS);
  state.fails = false;
  expect(await health()).toMatchObject({ status: 'ok' });
});
