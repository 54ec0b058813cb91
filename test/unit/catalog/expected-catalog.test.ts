/** What the API expects of pools that have not reported their engines yet. */
import { describe, expect, it } from 'vitest';
import { expectedCatalog } from '../../../src/catalog/live.ts';
import { toolchains } from '../../../src/contracts/toolchains.ts';

type Pool = ReturnType<Parameters<typeof expectedCatalog>[0]> extends Iterable<infer P> ? P : never;

const pool = (toolchain: string, given: Partial<Pool> = {}): Pool => ({
  name: toolchain,
  toolchain,
  paused: false,
  capacity: 2,
  seenAt: 0,
  engines: new Map(),
  ...given,
});
const reported = { seenAt: 1 };
const MINUTE = 60_000;
const old = { clock: () => 1_000 * MINUTE, createdAt: 0 };
const has = (pools: readonly Pool[], source: string, target: string, isNew = false): boolean | undefined => {
  const catalog = expectedCatalog(() => pools, isNew ? { ...old, createdAt: 999 * MINUTE } : old)();
  return catalog && catalog.route(source, target) !== undefined;
};

describe('where no pool is declared', () => {
  it('expects all that this release has', () => {
    expect([has([], 'png', 'jpg'), has([], 'docx', 'pdf'), has([], 'mp4', 'webm')]).toEqual([true, true, true]);
    expect(expectedCatalog(() => [], old)()?.tools.has('merge-pdf')).toBe(true);
  });
});

describe('where a pool has yet to report', () => {
  it('expects all that its toolchain has, and no more', () => {
    expect([has([pool('image')], 'png', 'jpg'), has([pool('image')], 'mp4', 'webm')]).toEqual([true, false]);
  });

  it('takes what the others have reported as it is', () => {
    const pools = [pool('image', reported), pool('media')];
    expect([has(pools, 'mp4', 'webm'), has(pools, 'png', 'jpg')]).toEqual([true, false]);
  });

  it('follows the pools', () => {
    let pools = [pool('image')];
    const catalog = expectedCatalog(() => pools, old);
    expect(catalog()?.route('mp4', 'webm')).toBeUndefined();
    pools = [pool('image'), pool('media')];
    expect(catalog()?.route('mp4', 'webm')).toBeDefined();
    pools = [pool('image', reported), pool('media', reported)];
    expect(catalog()).toBeUndefined();
  });
});

describe('in a new cluster', () => {
  it('expects what another pool of a toolchain may have', () => {
    const other = pool('image', { name: 'image-large' });
    expect(has([pool('image', reported), other], 'png', 'jpg', true)).toBe(true);
    expect(has([pool('image', reported), other], 'png', 'jpg')).toBe(true);
  });
  it('expects pools that are not declared yet, or that have no capacity yet', () => {
    expect(has([pool('image', reported)], 'mp4', 'webm', true)).toBe(true);
    expect(has([pool('image', reported), pool('media', { capacity: 0 })], 'mp4', 'webm', true)).toBe(true);
  });
  it('expects no pool once every toolchain has reported', () => {
    const pools = toolchains.map((name) => pool(name, reported));
    expect(has(pools, 'png', 'jpg', true)).toBeUndefined();
    expect(has(pools.slice(1), 'png', 'jpg', true)).toBeDefined();
  });
});

describe('no worker is awaited', () => {
  it('for longer than a node takes to come, from the first question on', () => {
    let now = 1_000 * MINUTE;
    let pools: readonly Pool[] = [pool('image')];
    const catalog = expectedCatalog(() => pools, { clock: () => now, createdAt: 0 });
    const awaits = (source: string, target: string) => catalog()?.route(source, target) !== undefined;
    expect(awaits('png', 'jpg')).toBe(true);
    now += 14 * MINUTE;
    expect(awaits('png', 'jpg')).toBe(true);
    pools = [pool('image'), pool('media')];
    expect(awaits('mp4', 'webm')).toBe(true);
    now += 2 * MINUTE;
    expect(awaits('mp4', 'webm')).toBe(true);
    now += 14 * MINUTE;
    expect(catalog()).toBeUndefined();
    pools = [];
    expect(awaits('png', 'jpg')).toBe(true);
    now += 15 * MINUTE;
    expect(catalog()).toBeUndefined();
  });
  const cases: Readonly<Record<string, Partial<Pool>>> = {
    'of pools that have reported, now or before': reported,
    'of pools without capacity': { capacity: 0 },
    'of paused pools': { paused: true },
  };
  for (const [sentence, given] of Object.entries(cases))
    it(sentence, () => expect(has([pool('image', given)], 'png', 'jpg')).toBeUndefined());
});
