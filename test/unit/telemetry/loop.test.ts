import { setTimeout as later } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createLog } from '../../../src/telemetry/log.ts';
import { type LoopWatch, watchLoop } from '../../../src/telemetry/loop.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';

const over: AbortController[] = [];
afterEach(() => {
  for (const each of over.splice(0)) each.abort();
});

interface Held {
  readonly route: string;
  readonly in_flight: readonly string[];
  readonly ms: number;
  readonly cpu_ms: number;
}

function watched() {
  const told: Held[] = [];
  const metrics = createMetrics();
  const stream = { write: (line: string) => void told.push(JSON.parse(line) as Held) };
  const ending = new AbortController();
  over.push(ending);
  const watch: LoopWatch = watchLoop({ log: createLog('warn', stream), metrics, otherwise: 'worker', signal: ending.signal });
  return { watch, told, metrics };
}

function hold(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

/** Until the watch has looked, however busy the machine is. */
async function until(happened: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await happened())) await later(10);
}

describe('a held event loop', () => {
  it('is told with the route whose request was in flight, though it was answered since', async () => {
    const { watch, told, metrics } = watched();
    watch.begin('/api/v1/convert');
    hold(400);
    watch.end('/api/v1/convert');
    await until(() => told.length > 0);
    expect(told[0]).toMatchObject({ route: '/api/v1/convert', in_flight: ['/api/v1/convert'] });
    expect(told[0]?.ms).toBeGreaterThan(200);
    expect(told[0]?.cpu_ms).toBeGreaterThan(0);
    expect(await metrics.text()).toMatch(/filemill_event_loop_blocked_seconds_count\{route="\/api\/v1\/convert"\} [1-9]/);
  });

  it('is told as the role’s own work where no request is in flight', async () => {
    const { watch, told } = watched();
    watch.begin('/mcp');
    watch.end('/mcp');
    hold(400);
    await until(() => told.length > 0);
    hold(400);
    await until(() => told.length > 1);
    expect(told.at(-1)).toMatchObject({ route: 'worker', in_flight: [] });
  });

  it('is told with the latest of several, and a few of the others', async () => {
    const { watch, told } = watched();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'a']) watch.begin(name);
    hold(400);
    await until(() => told.length > 0);
    expect(told[0]).toMatchObject({ route: 'a', in_flight: ['a', 'f', 'e', 'd', 'c'] });
  });
});
