/** What becomes of a pool's workers: the decision alone, over facts made up for it. */
import { describe, expect, it } from 'vitest';
import { decide, desired } from '../../../../src/controller/pools/decide/decide.ts';
import { stabilisationWindow } from '../../../../src/controller/pools/decide/stabilisation.ts';
import type { Observation, ObservedWorker, PoolAction, PoolScale, WorkerState } from '../../../../src/controller/pools/observation.ts';
import { troubleOf } from '../../../../src/controller/pools/report/trouble.ts';
import { observedWorker } from './observed.ts';

const settings: PoolScale = {
  capacity: 10,
  standby: 2,
  paused: false,
  idleMs: 60_000,
  targetWaitMs: 1_000,
  conversionsPerWorker: 50,
  slots: 1,
};

const workers = (count: number, state: WorkerState = 'idle', change: Partial<ObservedWorker> = {}) =>
  Array.from({ length: count }, (_, slot) => observedWorker(slot, state, change));

const aPool = (change: Partial<Omit<Observation, 'pool'>> & { readonly pool?: Partial<PoolScale> } = {}): Observation => ({
  now: 1_000_000,
  demand: { pending: 0, inFlight: 0, oldestMs: undefined },
  serviceMs: 100,
  enginesKnown: true,
  reportedTemplate: undefined,
  enginesCurrent: true,
  workers: workers(2),
  foreignSlots: [],
  history: [],
  backOff: undefined,
  ...change,
  pool: { ...settings, ...change.pool },
});
const load = (pending: number, inFlight = 0, serviceMs = 100) => ({ demand: { pending, inFlight, oldestMs: 0 }, serviceMs });
const noImage = { reason: 'ImagePullFailed', message: 'no space left on device' } as const;
const noContainer = { reason: 'ContainerFailed', message: 'no space left on device' } as const;
const unschedulable = { reason: 'Unschedulable', message: 'no node' } as const;

/** As one reads it: `create 2`, `retire 3`. */
const said = (actions: readonly PoolAction[]) =>
  actions.map((action) => {
    if (action.do === 'create') return `create ${action.count}`;
    return `${action.do} ${action.worker.slot}${action.do === 'guard' ? (action.on ? ' on' : ' off') : ''}`;
  });

describe('a pool', () => {
  const cases: Record<string, [Observation, string[]]> = {
    'with its standby and no load is left alone': [aPool(), []],
    'without standby gets it': [aPool({ workers: [] }), ['create 2']],
    'with ten short orders waiting needs one worker more, not ten': [aPool(load(10)), ['create 1']],
    'with ten long orders waiting grows to its capacity': [aPool(load(10, 0, 5_000)), ['create 8']],
    'whose workers hold two orders each needs half as many': [aPool({ ...load(0, 8), pool: { slots: 2 } }), ['create 4']],
    'whose queue is silent is held as it is': [aPool({ demand: undefined, workers: [] }), []],
    'that is paused is left as it is, whatever waits': [aPool({ ...load(100), pool: { paused: true } }), []],
    'whose engines are unknown gets one worker to tell': [aPool({ enginesKnown: false, workers: [], pool: { standby: 0 } }), ['create 1']],
    'whose template no worker has tried gets one to tell what it has': [
      aPool({ enginesCurrent: false, workers: [], pool: { standby: 0 } }),
      ['create 1'],
    ],
    'that may have none gets none even so': [aPool({ enginesKnown: false, workers: [], pool: { standby: 0, capacity: 0 } }), []],
    'with a worker that no node takes makes no more': [
      aPool({ ...load(10, 0, 5_000), workers: [observedWorker(0, 'stuck', { trouble: unschedulable })] }),
      [],
    ],
    'with a worker that one node cannot start grows where others serve': [
      aPool({ ...load(10, 0, 5_000), workers: [observedWorker(0), observedWorker(1), observedWorker(2, 'stuck', { trouble: noImage })] }),
      ['create 7'],
    ],
    'with a container that one node cannot create grows where others serve': [
      aPool({ ...load(10, 0, 5_000), workers: [observedWorker(0, 'busy'), observedWorker(1, 'stuck', { trouble: noContainer })] }),
      ['create 8'],
    ],
    'with a worker that one node cannot start, and only older ones that serve, makes no more': [
      aPool({
        ...load(10, 0, 5_000),
        workers: [observedWorker(0, 'idle', { current: false }), observedWorker(1, 'stuck', { trouble: noImage })],
      }),
      [],
    ],
    'whose workers all cannot start makes no more': [
      aPool({ ...load(10, 0, 5_000), workers: workers(2, 'stuck', { trouble: noImage, stuckMs: 299_999 }) }),
      [],
    ],
    'takes a worker from a node that has not started it in five minutes': [
      aPool({ workers: [observedWorker(0), observedWorker(1, 'stuck', { trouble: noImage, stuckMs: 300_000 })] }),
      ['remove 1'],
    ],
    'grows meanwhile': [
      aPool({ ...load(10, 0, 5_000), workers: [observedWorker(0), observedWorker(1, 'stuck', { trouble: noImage, stuckMs: 300_000 })] }),
      ['remove 1', 'create 8'],
    ],
    'takes it once where it shrinks, too': [
      aPool({ workers: [observedWorker(0), observedWorker(1), observedWorker(2, 'stuck', { trouble: noImage, stuckMs: 300_000 })] }),
      ['remove 2'],
    ],
    'takes its only worker from such a node, too': [
      aPool({ workers: [observedWorker(0, 'stuck', { trouble: noContainer, stuckMs: 300_000 })], pool: { standby: 1 } }),
      ['remove 0'],
    ],
    'leaves a worker that no node takes where it is': [
      aPool({ workers: [observedWorker(0, 'stuck', { trouble: unschedulable, stuckMs: 900_000 }), observedWorker(1)] }),
      [],
    ],
    'that is paused takes no worker from its node': [
      aPool({ workers: [observedWorker(0, 'stuck', { trouble: noImage, stuckMs: 900_000 })], pool: { paused: true } }),
      [],
    ],
    'rolls no further while a node cannot start what replaces a worker': [
      aPool({
        workers: [observedWorker(0, 'idle', { current: false }), observedWorker(1), observedWorker(2, 'stuck', { trouble: noImage })],
        pool: { standby: 3 },
      }),
      [],
    ],
    'whose new workers keep failing waits': [aPool({ ...load(10), workers: [], backOff: { until: 1_000_001, why: unschedulable } }), []],
    'sends one ahead when it has waited enough': [aPool({ workers: [], backOff: { until: 999_999, why: unschedulable } }), ['create 1']],
    'waits for the one that was sent ahead': [
      aPool({ workers: [observedWorker(0, 'starting')], backOff: { until: 999_999, why: unschedulable } }),
      [],
    ],
    'sends one ahead without load, to learn whether the trouble is over': [
      aPool({ workers: [], pool: { standby: 0 }, backOff: { until: 999_999, why: unschedulable } }),
      ['create 1'],
    ],
    'counts those that start': [aPool({ workers: workers(2, 'starting') }), []],
    'replaces those that leave, where there is room': [
      aPool({ workers: [observedWorker(0, 'draining'), observedWorker(1)] }),
      ['create 1'],
    ],
    'never has more than its capacity, leavers included': [
      aPool({ ...load(100, 0, 5_000), workers: [...workers(8, 'busy'), observedWorker(8, 'draining'), observedWorker(9, 'leaving')] }),
      [],
    ],
    'has a slot free as soon as a worker is lost': [
      aPool({ ...load(100, 0, 5_000), workers: [...workers(9, 'busy'), observedWorker(9, 'lost')] }),
      ['remove 9', 'create 1'],
    ],
    'replaces a worker that fell silent, and waits for its return': [
      aPool({ workers: [observedWorker(0, 'silent'), observedWorker(1)] }),
      ['create 1'],
    ],
    'removes what has succeeded': [aPool({ workers: [...workers(2), observedWorker(2, 'succeeded')] }), ['remove 2']],
    'keeps its three last failures': [
      aPool({ workers: [...workers(2), ...[5, 9, 7, 8].map((at, index) => observedWorker(2 + index, 'failed', { endedAt: at }))] }),
      ['remove 2'],
    ],
    'that wanted more a moment ago does not shrink yet': [aPool({ workers: workers(3), history: [{ at: 990_000, desired: 3 }] }), []],
    'that has wanted less for its idle time shrinks from the top': [
      aPool({ workers: workers(4), history: [{ at: 900_000, desired: 4 }] }),
      ['retire 3', 'retire 2'],
    ],
    'shrinks by those that never came up first': [
      aPool({ workers: [observedWorker(0, 'stuck', { trouble: unschedulable }), observedWorker(1), observedWorker(2)] }),
      ['remove 0'],
    ],
    'never retires a busy worker for want of load': [aPool({ ...load(0, 1), workers: workers(5, 'busy') }), []],
    'drained to no capacity lets all of them go when they have finished': [
      aPool({ ...load(0, 1), workers: [observedWorker(0, 'busy'), observedWorker(1)], pool: { capacity: 0, standby: 0 } }),
      ['retire 1', 'retire 0'],
    ],
    'drained to no capacity asks the busy ones too': [
      aPool({ ...load(0, 1), workers: [observedWorker(0, 'busy')], pool: { capacity: 0, standby: 0 } }),
      ['retire 0'],
    ],
    'rolls one idle worker of an older template at a time': [aPool({ workers: workers(2, 'idle', { current: false }) }), ['retire 0']],
    'rolls a quarter of a large pool at a time': [
      aPool({ ...load(0, 6), workers: workers(8, 'idle', { current: false }), history: [{ at: 999_999, desired: 8 }] }),
      ['retire 0', 'retire 1'],
    ],
    'waits for the new ones to come up before it rolls on': [
      aPool({ workers: [observedWorker(0, 'idle', { current: false }), observedWorker(1, 'starting')] }),
      [],
    ],
    'grows before it rolls': [
      aPool({ ...load(10), workers: [observedWorker(0, 'idle', { current: false }), observedWorker(1)] }),
      ['create 1'],
    ],
    'rolls idle workers before busy ones': [
      aPool({
        ...load(0, 1),
        workers: [observedWorker(0, 'busy', { current: false }), observedWorker(1, 'idle', { current: false }), observedWorker(2)],
      }),
      ['retire 1'],
    ],
    'rolls busy ones when no idle one is left, and they finish first': [
      aPool({ ...load(0, 1), workers: [observedWorker(0, 'busy', { current: false }), observedWorker(1), observedWorker(2)] }),
      ['retire 0'],
    ],
    'does not roll away what works while the new template fails': [
      aPool({ workers: workers(2, 'idle', { current: false }), backOff: { until: 1_000_001, why: unschedulable } }),
      [],
    ],
    'makes again what an older template could not bring up': [
      aPool({ workers: [observedWorker(0, 'stuck', { current: false, trouble: unschedulable }), observedWorker(1)] }),
      ['remove 0'],
    ],
    'guards a worker that has been busy for long': [
      aPool({
        ...load(0, 2),
        workers: [
          observedWorker(0, 'busy', { busyMs: 10_001 }),
          observedWorker(1, 'busy', { busyMs: 9_999 }),
          observedWorker(2),
          observedWorker(3),
        ],
      }),
      ['guard 0 on'],
    ],
    'guards it no more when it is idle': [
      aPool({ workers: [observedWorker(0, 'idle', { guarded: true }), observedWorker(1)] }),
      ['guard 0 off'],
    ],
  };
  for (const [sentence, [seen, actions]] of Object.entries(cases)) it(sentence, () => expect(said(decide(seen).actions)).toEqual(actions));

  it('needs no two thousand workers for two thousand orders of 50 ms', () => {
    const pool = { ...settings, capacity: 5_000, standby: 0, targetWaitMs: 10_000, conversionsPerWorker: 100 };
    expect(desired(pool, { pending: 2_000, inFlight: 0, oldestMs: 0 }, 50)).toBe(20);
  });

  it('makes a worker an order where each may do one', () => {
    const pool = { ...settings, capacity: 50, standby: 0, conversionsPerWorker: 1 };
    expect(desired(pool, { pending: 30, inFlight: 5, oldestMs: 0 }, 50)).toBe(35);
  });

  it('says why it is held', () => {
    expect(decide(aPool({ demand: undefined })).hold).toBe('QueueUnknown');
    expect(decide(aPool({ pool: { paused: true } })).hold).toBe('Paused');
    expect(decide(aPool({ workers: [observedWorker(0, 'stuck', { trouble: unschedulable })] })).hold).toEqual(unschedulable);
  });

  it('is in trouble without a hold while one node alone cannot start a worker', () => {
    const observed = aPool({ workers: [observedWorker(0), observedWorker(1, 'stuck', { trouble: noImage })] });
    expect([decide(observed).hold, troubleOf(observed, decide(observed))]).toEqual([undefined, noImage]);
    expect(decide(aPool({ workers: [observedWorker(1, 'stuck', { trouble: noImage })] })).hold).toEqual(noImage);
  });

  it('is never asked to have more than its capacity, whatever is seen', () => {
    const states: WorkerState[] = [
      'starting',
      'stuck',
      'idle',
      'busy',
      'draining',
      'silent',
      'leaving',
      'lost',
      'succeeded',
      'failed',
      'over',
    ];
    const dead = new Set(['lost', 'succeeded', 'failed', 'over']);
    // Every mixture of three states among twelve, under every load.
    for (const [index, first] of states.entries())
      for (const second of states.slice(index))
        for (const third of states)
          for (const pending of [0, 1, 50, 5_000]) {
            const there = Array.from({ length: 12 }, (_, slot) => observedWorker(slot, [first, second, third][slot % 3] as WorkerState));
            const { actions } = decide(aPool({ ...load(pending, 3, 20_000), workers: there }));
            const made = actions.reduce((sum, action) => sum + (action.do === 'create' ? action.count : 0), 0);
            const live = there.filter(({ state }) => !dead.has(state)).length;
            if (made > 0) expect(live + made).toBeLessThanOrEqual(settings.capacity);
            for (const action of actions)
              if (action.do === 'remove') expect(['lost', 'succeeded', 'failed', 'stuck']).toContain(action.worker.state);
          }
  });
});

it('remembers the most that was wanted lately, in a few figures', () => {
  const lately = stabilisationWindow();
  for (let at = 0; at < 100_000; at += 100) lately.note(at, Math.round(10 + 5 * Math.sin(at / 9_000)), 60_000);
  expect(Math.max(...lately.all().map(({ desired: most }) => most))).toBe(15);
  expect(lately.all().length).toBeLessThan(12);
  lately.note(200_000, 1, 60_000);
  expect(lately.all()).toEqual([{ at: 200_000, desired: 1 }]);
});
