/** What `make test` runs: no test file is lost, and a draw leaves out no group. */
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkout } from '../../kit/roles/service.ts';
import { draw, plan, rowOf, shareOf } from '../../plan.ts';

const files = ['test', 'src'].flatMap((folder) =>
  globSync(`${folder}/**/*.test.ts`, { cwd: checkout, exclude: ['test/mcp', 'test/typed-client'] }),
);

describe('the plan of the tests', () => {
  it('has a row for every test file, and no row without one', () => {
    expect(files.length).toBeGreaterThan(100);
    expect(files.filter((file) => rowOf(file) === undefined)).toEqual([]);
    expect(Object.keys(plan).filter((row) => !files.some((file) => rowOf(file) === row))).toEqual([]);
  });

  it('gives a share that means something', () => {
    for (const file of files) {
      const share = shareOf(file);
      if (share !== 'whole') expect(typeof share === 'number' ? share : share.rows, file).toBeGreaterThan(1);
    }
  });
});

describe('a draw', () => {
  const names = Array.from({ length: 40 }, (_, index) => `hostile file ${index % 30}`);

  it('is the same for the same seed, and another for another', () => {
    expect([...draw(names, 8, 'a')]).toEqual([...draw(names, 8, 'a')]);
    expect([...draw(names, 8, 'a')].toSorted()).not.toEqual([...draw(names, 8, 'b')].toSorted());
  });

  it('takes the share, at least one of a group, and each in some run', () => {
    expect(draw(names, 8, 'a').size).toBe(5);
    expect(draw(names.slice(0, 3), 8, 'a').size).toBe(1);
    expect(draw([], 8, 'a').size).toBe(0);
    expect(draw(names, 'whole', 'a').size).toBe(40);
    const ever = new Set(Array.from({ length: 100 }, (_, seed) => [...draw(names, 8, String(seed))]).flat());
    expect(ever.size).toBe(40);
  });
});
