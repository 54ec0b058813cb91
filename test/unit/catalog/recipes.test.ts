/** What a recipe comes to, before anything runs: its conversions, their cost, and the pools that it goes through. */
import { describe, expect, it } from 'vitest';
import { createCatalog } from '../../../src/catalog/catalog.ts';
import { engines } from '../../../src/catalog/engines.gen.ts';
import { planRecipe } from '../../../src/catalog/recipes/plan.ts';
import { readRecipe } from '../../../src/catalog/recipes/recipe.ts';
import { stintsOf } from '../../../src/catalog/recipes/stints.ts';
import { Failure } from '../../../src/errors.ts';

const catalog = createCatalog(engines.map((engine) => ({ engine, version: '1' })));
const to = (name: string, format: string, more: object = {}) => ({ name, do: 'convert', options: { to_format: format }, ...more });
const plan = (steps: readonly object[], sources: readonly (string | undefined)[]) => planRecipe(readRecipe({ steps }), catalog, sources);
function refusal(steps: readonly object[], sources: readonly (string | undefined)[]): unknown {
  try {
    return plan(steps, sources).cost;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return [error.code, error.details['step']];
  }
}
const several = (format: string, count: number) => Array<string>(count).fill(format);
const SPLIT = { name: 'parts', do: 'split-pdf' };

describe('the work of a recipe', () => {
  it.each<[string, readonly object[], readonly (string | undefined)[], unknown]>([
    [
      'is one conversion for each file and step, and one for what takes all',
      [to('a', 'pdf'), { name: 'b', do: 'merge-pdf' }],
      several('docx', 3),
      4,
    ],
    ['is counted once where the pages of a document are not known', [SPLIT, to('a', 'png')], ['pdf'], 2],
    ['is refused where 20 documents become all their pages', [SPLIT, to('a', 'png')], several('pdf', 20), ['BATCH_TOO_LARGE', 'a']],
    ['is refused so before the formats are known', [SPLIT, to('a', 'png')], Array<undefined>(20).fill(undefined), ['BATCH_TOO_LARGE', 'a']],
    ['is what a step promises to make at most', [{ ...SPLIT, max_files: 100 }, to('a', 'png')], several('pdf', 20), 40],
    [
      'is as many pages as are asked for',
      [to('a', 'png', { options: { to_format: 'png', pages: '1-3' } }), to('b', 'webp')],
      several('pdf', 20),
      40,
    ],
    [
      'does not multiply by the frames that a photo might have',
      [to('a', 'jpg'), { name: 'b', do: 'grayscale-image' }],
      several('webp', 20),
      40,
    ],
    [
      'is refused where a tool would get more files than it takes',
      [SPLIT, { name: 'b', do: 'merge-pdf' }],
      several('pdf', 21),
      ['BATCH_TOO_LARGE', 'b'],
    ],
    ['may fit a tool where a document has few pages', [SPLIT, { name: 'b', do: 'merge-pdf' }], ['pdf'], 2],
    [
      'is refused where all steps together certainly come to more than are run',
      [to('a', 'webp', { from: several('files', 20) }), ...['b', 'c', 'd', 'e'].map((name) => to(name, 'png', { from: several('a', 4) }))],
      several('png', 20),
      ['BATCH_TOO_LARGE', 'd'],
    ],
  ])('%s', (_, steps, sources, expected) => expect(refusal(steps, sources)).toEqual(expected));

  it('is looked at once for each format, however many files have it', () => {
    let routes = 0;
    const route: typeof catalog.route = (...way) => {
      routes++;
      return catalog.route(...way);
    };
    const steps = [to('a', 'webp', { from: several('files', 20) }), to('b', 'jpg', { from: several('a', 6) })];
    const { made, cost } = planRecipe(readRecipe({ steps }), { ...catalog, route }, [...several('png', 10), ...several('jpg', 10)]);
    expect([routes, cost]).toEqual([3, 400 + 2_400]);
    expect(made[1]).toMatchObject([{ format: 'jpg', least: 2_400, most: 2_400 }]);
  });

  it('takes a file by its number among those of several formats', () => {
    const steps = [to('a', 'webp'), to('b', 'pdf', { from: ['files.2'] }), to('c', 'txt', { from: ['b'] })];
    expect(plan(steps, ['png', 'png', 'docx', 'jpg']).units.filter(({ step }) => step === 1)).toMatchObject([{ format: 'docx' }]);
  });

  it.each<[string, object, string | undefined, number]>([
    ['all pages that a document may have', {}, 'pdf', 2_000],
    ['all frames that a picture may have', {}, 'gif', 2_000],
    ['both of a file of which nothing is known yet', {}, undefined, 2_000],
    ['one of a picture that has one', {}, 'jpg', 1],
    ['those pages that are asked for', { options: { to_format: 'png', pages: '1-3' } }, 'pdf', 3],
    ['what a step promises to make at most', { max_files: 7 }, undefined, 7],
  ])('counts for a tool with its own limit %s', (_, more, source, runs) => {
    const { tools, cost } = plan([to('a', 'png', more), { name: 'b', do: 'grayscale-image' }], [source]);
    expect([tools.length, cost]).toEqual([runs, 2]);
  });

  it('knows the tools that limits count', () =>
    expect(
      plan(
        [
          { name: 'a', do: 'grayscale-image' },
          { name: 'b', do: 'rotate-image', options: { img_rotate: '90' } },
        ],
        ['png', 'jpg'],
      ).tools,
    ).toEqual(['grayscale-image', 'grayscale-image', 'rotate-image', 'rotate-image']));
});

describe('the pools of a recipe', () => {
  const poolsOf = (steps: readonly object[], sources: readonly string[]) => {
    const recipe = readRecipe({ steps });
    const { units } = planRecipe(recipe, catalog, sources);
    return stintsOf(recipe, units, ({ toolchains }, named) =>
      toolchains.some((toolchain) => toolchain === named) ? (named ?? '') : (toolchains[0] ?? ''),
    );
  };

  it('are one after the other, each as long as it can go on', () => {
    const steps = [to('pages', 'pdf'), { name: 'book', do: 'merge-pdf' }, to('text', 'txt'), to('cover', 'webp', { from: ['book'] })];
    const stints = poolsOf(steps, ['docx', 'png', 'docx']);
    expect(stints.map(({ pool }) => pool)).toEqual(['office', 'image', 'pdf', 'image']);
    expect(stints.map(({ runs }) => runs)).toEqual([
      [[0, 'docx']],
      [[0, 'png']],
      [
        [1, null],
        [2, 'pdf'],
      ],
      [[3, 'pdf']],
    ]);
  });

  it('begin no step before all that it reads is there', () => {
    const steps = [to('a', 'webp'), to('b', 'pdf', { from: ['files'] }), to('c', 'png', { from: ['a'] })];
    for (const { runs } of poolsOf(steps, ['png'])) expect(runs.map(([step]) => step)).toEqual(runs.map(([step]) => step).toSorted());
    expect(poolsOf(steps, ['png'])).toHaveLength(1);
  });
});
