/** Which pool an order goes to, and what a pool can do while its workers differ. */
import { describe, expect, it } from 'vitest';
import { Failure } from '../../../src/errors.ts';
import { brokenEngines, sharedDevices, sharedEngines } from '../../../src/pools/nats/registry.ts';
import { choosePool, equivalentPools, type Pool, poolsFor } from '../../../src/pools/registry.ts';
import { aPool } from '../../conformance/samples.ts';

const ENGINES = new Map([['sharp', '0.35.0']]);
const pools = (...all: readonly Pool[]) => new Map(all.map((each) => [each.name, each]));

describe('an order goes', () => {
  it.each<[string, readonly Pool[], readonly string[]]>([
    ['to the pool that is preferred', [aPool('a', { preference: 1 }), aPool('b')], ['b', 'a']],
    [
      'to the preferred one though it must be started first',
      [aPool('a', { preference: 1 }), aPool('b', { workers: 0, capacity: 4 })],
      ['b', 'a'],
    ],
    [
      'to the preferred one last where it has no worker and will have none',
      [aPool('a', { preference: 1 }), aPool('b', { workers: 0 })],
      ['a', 'b'],
    ],
    ['of two alike, to the one with workers', [aPool('a', { workers: 0, capacity: 4 }), aPool('b', { capacity: 4 })], ['b', 'a']],
    ['of two that are the same, to the first by name', [aPool('b'), aPool('a')], ['a', 'b']],
    ['to none that is paused', [aPool('a', { paused: true }), aPool('b')], ['b']],
    [
      'not to the preferred one while its workers do not come up',
      [aPool('a', { preference: 1 }), aPool('b', { workers: 0, capacity: 4, degraded: true })],
      ['a', 'b'],
    ],
    [
      'to the preferred one as long as some of its workers serve',
      [aPool('a', { preference: 1 }), aPool('b', { degraded: true })],
      ['b', 'a'],
    ],
    [
      'to one whose workers may yet come up before one that will have none',
      [aPool('a', { workers: 0 }), aPool('b', { workers: 0, capacity: 4, degraded: true, preference: 1 })],
      ['b', 'a'],
    ],
    ['not to the preferred one where it would wait for long', [aPool('a', { preference: 1 }), aPool('b', { waitMs: 60_000 })], ['a', 'b']],
    ['to the preferred one though it waits there a little', [aPool('a', { preference: 1 }), aPool('b', { waitMs: 20_000 })], ['b', 'a']],
    [
      'where it waits least, where it waits for long everywhere',
      [aPool('a', { preference: 1, waitMs: 50_000 }), aPool('b', { waitMs: 60_000 })],
      ['a', 'b'],
    ],
    ['to none of another toolchain', [aPool('a', { toolchain: 'pdf' }), aPool('b')], ['b']],
    ['to none that lacks an engine', [aPool('a', { engines: new Map() }), aPool('b')], ['b']],
    ['to a cold pool where there is no other', [aPool('a', { workers: 0 })], ['a']],
  ])('%s', (_, all, expected) => expect(poolsFor(pools(...all), 'image', ['sharp']).map(({ name }) => name)).toEqual(expected));

  it('to the first toolchain that has a pool for it', () =>
    expect(choosePool(pools(aPool('a', { toolchain: 'pdf' })), ['image', 'pdf'], ['sharp'])).toBe('a'));

  it('nowhere for now where all are paused', () => {
    const refused = () => choosePool(pools(aPool('a', { paused: true })), ['image'], ['sharp']);
    expect(refused).toThrow(Failure);
    expect(refused).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
  });

  it('where its own pool is full, to those that can do as much', () => {
    const more = new Map([...ENGINES, ['vips', '8']]);
    const all = pools(aPool('a'), aPool('b', { engines: new Map() }), aPool('c', { engines: more }), aPool('d', { preference: -1 }));
    expect(equivalentPools(all, 'a')).toEqual(['a', 'd', 'c']);
  });
});

describe('workers that differ', () => {
  it('offer what all of them have, in the version of the first, whichever reported last', () => {
    const old = { worker: 'a-1', engines: { sharp: '1', magick: '6' } };
    const young = { worker: 'b-1', engines: { sharp: '2', jxl: '1' } };
    const shared = new Map([['sharp', '1']]);
    expect(sharedEngines([old, young])).toEqual(shared);
    expect(sharedEngines([young, old])).toEqual(shared);
  });

  it('offers what some of its workers can use while others cannot, and lacks what none can', () => {
    const well = { worker: 'a-1', engines: { sharp: '1', jxl: '1' }, broken: { heif: 'failed' } };
    const ill = { worker: 'b-1', engines: { sharp: '1' }, broken: { jxl: 'crashed', heif: 'failed' } };
    expect(sharedEngines([well, ill])).toEqual(
      new Map([
        ['sharp', '1'],
        ['jxl', '1'],
      ]),
    );
    expect(brokenEngines([well, ill])).toEqual(new Map([['heif', 'failed']]));
    expect(sharedEngines([ill])).toEqual(new Map([['sharp', '1']]));
    expect(brokenEngines([ill])).toEqual(
      new Map([
        ['jxl', 'crashed'],
        ['heif', 'failed'],
      ]),
    );
  });

  it('have the devices that each of them has found, at least', () => {
    expect(sharedDevices([{ devices: { nvidia: 2, render: 1 } }, { devices: { nvidia: 1, render: 0 } }])).toEqual({ nvidia: 1, render: 0 });
    // Found none is another answer than uses none.
    expect(sharedDevices([{ devices: { nvidia: 0 } }])).toEqual({ nvidia: 0 });
    expect(sharedDevices([{}])).toBeUndefined();
    expect(sharedDevices([])).toBeUndefined();
  });
});
