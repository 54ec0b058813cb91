/** What the API supposes of pools that have not reported their engines yet. */
import { describe, expect, it } from 'vitest';
import { expectedCatalog } from '../../src/catalog/live.ts';

type Pool = ReturnType<Parameters<typeof expectedCatalog>[0]> extends Iterable<infer P> ? P : never;

const pool = (toolchain: string, reported: Partial<Pool> = {}): Pool => ({
  toolchain,
  capacity: 2,
  seenAt: 0,
  engines: new Map(),
  ...reported,
});
const has = (pools: readonly Pool[], source: string, target: string): boolean | undefined => {
  const catalog = expectedCatalog(() => pools)();
  return catalog && catalog.route(source, target) !== undefined;
};

describe('where no pool is declared', () => {
  it('supposes all that this release has', () => {
    expect([has([], 'png', 'jpg'), has([], 'docx', 'pdf'), has([], 'mp4', 'webm')]).toEqual([true, true, true]);
    expect(expectedCatalog(() => [])()?.tools.has('merge-pdf')).toBe(true);
  });
});

describe('where a pool has yet to report', () => {
  it('supposes all that its toolchain has, and no more', () => {
    expect([has([pool('image')], 'png', 'jpg'), has([pool('image')], 'mp4', 'webm')]).toEqual([true, false]);
  });

  it('takes what the others have reported as it is', () => {
    const image = pool('image', { seenAt: 1, engines: new Map() });
    expect([has([image, pool('media')], 'mp4', 'webm'), has([image, pool('media')], 'png', 'jpg')]).toEqual([true, false]);
  });

  it('follows the pools', () => {
    let pools = [pool('image')];
    const catalog = expectedCatalog(() => pools);
    expect(catalog()?.route('mp4', 'webm')).toBeUndefined();
    pools = [pool('image'), pool('media')];
    expect(catalog()?.route('mp4', 'webm')).toBeDefined();
    pools = [pool('image', { seenAt: 1 }), pool('media', { seenAt: 1 })];
    expect(catalog()).toBeUndefined();
  });
});

describe('nothing is awaited', () => {
  it('of pools that have reported, now or before', () => expect(has([pool('image', { seenAt: 1 })], 'png', 'jpg')).toBeUndefined());
  it('of pools that nobody starts workers for', () => expect(has([pool('image', { capacity: 0 })], 'png', 'jpg')).toBeUndefined());
});
