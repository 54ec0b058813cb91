/** What `make test` and `make test-all` run: no test file is lost, and a draw leaves out no group. */
import { globSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkout } from '../kit/service.ts';
import { draw, leftOut, plan, rowOf, shareInAll, shareOf } from '../plan.ts';

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
      if (typeof share === 'number') expect(share, file).toBeGreaterThan(1);
    }
  });
});

describe.each([
  ['a run of all files with a draw from tables', 12, 4],
  ['make test', 0, 16],
])('%s', (_, tableShare, filesDrawn) => {
  it('takes some of each feature, every file in some run, and all that is not an integration', () => {
    const drawn = files.filter((file) => /^test\/(cluster|integration)\//.test(file) && (tableShare > 0 || shareOf(file) !== 'all'));
    const late = files.filter((file) => tableShare === 0 && shareOf(file) === 'all');
    const ever = new Set<string>();
    for (let seed = 0; seed < 400; seed++) {
      const out = new Set(leftOut(files, tableShare, String(seed)));
      for (const file of late) expect(out.delete(file)).toBe(true);
      for (const file of drawn) if (!out.has(file)) ever.add(file);
      expect([...out].filter((file) => !drawn.includes(file))).toEqual([]);
      expect(drawn.length - out.size).toBeGreaterThanOrEqual(drawn.length / filesDrawn);
      for (const folder of new Set(drawn.map((file) => dirname(file))))
        expect(
          drawn.some((file) => dirname(file) === folder && !out.has(file)),
          folder,
        ).toBe(true);
    }
    expect([...ever].toSorted()).toEqual(drawn.toSorted());
    expect(leftOut(files, 1, 'a')).toEqual([]);
  });
});

describe('the rows of a table', () => {
  it('are at least four times as many in a run of all files as in make test', () => {
    for (const file of files) {
      const [share, inAll] = [shareOf(file), shareInAll(file, 3)];
      if (typeof share !== 'number') expect(inAll, file).toBe('whole');
      else if (inAll !== 'whole') expect(inAll, file).toBeLessThanOrEqual(Math.min(3, Math.ceil(share / 4)));
    }
    expect(shareInAll('test/integration/hostile/office.test.ts', 3)).toBe(3);
    expect(shareInAll('test/integration/hostile/pdf.test.ts', 12)).toBe(6);
    expect(shareInAll('test/integration/catalog/tools-photos.test.ts', 12)).toBe('whole');
    expect(shareInAll('test/integration/api/hang-ups.test.ts', 3)).toBe('whole');
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
    expect(draw(names, 'all', 'a').size).toBe(0);
    const ever = new Set(Array.from({ length: 100 }, (_, seed) => [...draw(names, 8, String(seed))]).flat());
    expect(ever.size).toBe(40);
  });
});
