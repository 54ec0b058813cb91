import { describe, expect, it } from 'vitest';
import { sourceShares } from '../../../src/api/submit/fetches.ts';

const PLACES = 20;
/** Takes as many as there are for it. */
const fill = (shares: ReturnType<typeof sourceShares>, namespace: string): (() => void)[] => {
  const taken: (() => void)[] = [];
  for (let free = shares.take(namespace); free !== undefined; free = shares.take(namespace)) taken.push(free);
  return taken;
};

describe('places for sources', () => {
  it('are shared so that one namespace has half of them, and five have some', () => {
    const shares = sourceShares(PLACES);
    const counts = ['a', 'b', 'c', 'd', 'e'].map((namespace) => fill(shares, namespace).length);
    expect(counts).toEqual([10, 5, 3, 1, 1]);
    expect(shares.take('a')).toBeUndefined();
  });

  it('come back once each', () => {
    const shares = sourceShares(PLACES);
    const taken = fill(shares, 'a');
    for (const free of [...taken, ...taken]) free();
    expect(fill(shares, 'b')).toHaveLength(taken.length);
  });
});
