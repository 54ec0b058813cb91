/** The flags of the command line: made from the catalog's options, and none twice. */
import { describe, expect, it } from 'vitest';
import { optionSchemas } from '../../../src/catalog/options/options.ts';
import { tools } from '../../../src/catalog/tools.ts';
import { planWork } from '../../../src/cli/convert.ts';
import { COMMON_FLAGS, CONVERT_FLAGS, flagOf, readFileArguments } from '../../../src/cli/files/arguments.ts';

const own = new Set([...Object.keys(COMMON_FLAGS), ...Object.keys(CONVERT_FLAGS)]);
const read = (...args: string[]) => readFileArguments(args, CONVERT_FLAGS, optionSchemas);

describe('flags', () => {
  it.each([['convert', Object.keys(optionSchemas)] as const, ...tools.map(({ slug, input }) => [slug, Object.keys(input.shape)] as const)])(
    'of %s have names that no other flag has',
    (_, fields) => expect(fields.map(flagOf).filter((name) => own.has(name))).toEqual([]),
  );

  it('become fields of the form', () => {
    expect([...read('a.jpg', 'b.png', '--img-quality', '85', '--strip-metadata').options]).toEqual([
      ['img_quality', '85'],
      ['strip_metadata', 'true'],
    ]);
    expect([...read('a.jpg', '--no-strip-metadata').options]).toEqual([['strip_metadata', 'false']]);
  });
});

describe('where results go', () => {
  const plan = (...args: string[]) =>
    planWork(read(...args)).work.map(({ destination }) =>
      destination.to === 'file'
        ? destination.path
        : destination.to === 'folder'
          ? `${destination.folder} ${destination.nameOf('x.png')}`
          : '-',
    );

  it.each([
    [['a.jpg', 'b.png'], ['b.png']],
    [
      ['p/a.jpg', 'q/a.jpg', '--to', 'png'],
      ['p a.png', 'q a.png'],
    ],
    [
      ['p/a.jpg', 'q/A.jpg', '--to', 'png', '--out', 'o/'],
      ['o/ a.png', 'o/ A-2.png'],
    ],
    [['-', '--to', 'png'], ['-']],
    [['-', '-', '--to', 'png'], ['-']],
    [['-', 'b.png'], ['b.png']],
    [['a.png', '--to', 'png'], ['. a-filemill.png']],
    [
      ['a.jpg', 'a.png', '--to', 'png'],
      ['. a-2.png', '. a-filemill.png'],
    ],
    [
      ['p/a.jpg', 'p/b.jpg', '--to', 'png', '--name', '{folder}-{n}-{name}.{from}'],
      ['p p-1-a.jpg.png', 'p p-2-b.jpg.png'],
    ],
  ])('%j', (args, places) => expect(plan(...args)).toEqual(places));
});
