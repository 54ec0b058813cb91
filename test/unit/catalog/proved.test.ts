/** Nothing is offered that was not proved by a conversion: in each run a spread of the pairs, and all of them by `make proved`, which lists them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { engines } from '../../../src/catalog/engines.gen.ts';
import { choosePairs, nameOf, offered, type Pair, pairsOf, proofList, proves, seedOfCatalog } from '../../formats/spread.ts';
import { checkout } from '../../kit/roles/service.ts';

const pairs = pairsOf(offered);
const namesOf = (some: readonly Pair[]) => some.map(nameOf);

describe('the conversions that are offered', () => {
  it('are those that `make proved` has proved, each by the same engines', () => {
    const listed = readFileSync(join(checkout, 'test/formats/proved.txt'), 'utf8').split('\n');
    const now = proofList(pairs).split('\n');
    const news = now.filter((line) => !listed.includes(line));
    const gone = listed.filter((line) => !now.includes(line));
    expect({ news, gone }, 'run: make proved').toEqual({ news: [], gone: [] });
  });

  it('are proved in one file for each toolchain that has any', () => {
    const converting = new Set(engines.filter(({ conversions }) => conversions.length > 0).flatMap((engine) => engine.toolchains));
    const files = readdirSync(join(checkout, 'test/formats')).filter((name) => name.endsWith('.test.ts'));
    expect(files).toEqual([...converting].map((toolchain) => `${toolchain}.test.ts`).toSorted());
    for (const file of files)
      expect(readFileSync(join(checkout, 'test/formats', file), 'utf8')).toContain(`provePairs('${file.replace('.test.ts', '')}');`);
  });
});

describe('the conversions of one run', () => {
  const chosen = choosePairs(pairs, seedOfCatalog());

  it('prove whatever all of them prove', () => {
    const proven = new Set(chosen.flatMap(proves));
    expect([...new Set(pairs.flatMap(proves))].filter((each) => !proven.has(each))).toEqual([]);
  });

  it('have every source, every target, and every engine with each format that it reads or writes on a route', () => {
    const formats = (some: readonly Pair[]) => ({
      sources: [...new Set(some.map(({ source }) => source))].toSorted(),
      targets: [...new Set(some.map(({ target }) => target))].toSorted(),
      read: [...new Set(some.flatMap(({ route }) => route.hops.map(({ engine, source }) => `${engine.id} ${source}`)))].toSorted(),
      written: [...new Set(some.flatMap(({ route }) => route.hops.map(({ engine, target }) => `${engine.id} ${target}`)))].toSorted(),
    });
    expect(formats(chosen)).toEqual(formats(pairs));
  });

  it('are few, and none twice', () => {
    expect(new Set(namesOf(chosen)).size).toBe(chosen.length);
    expect(chosen.length).toBeLessThan(pairs.length / 6);
  });

  it('are the same for the same catalogue, and others for another', () => {
    expect(namesOf(choosePairs(pairs, seedOfCatalog()))).toEqual(namesOf(chosen));
    const seeds = Array.from({ length: 20 }, (_, seed) => String(seed));
    const ever = new Set(seeds.flatMap((seed) => namesOf(choosePairs(pairs, seed))));
    expect(ever.size).toBeGreaterThan(pairs.length / 2);
  });
});
