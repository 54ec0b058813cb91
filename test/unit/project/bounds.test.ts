/** Each bound on a file stands once, in `catalog/bounds.ts`; a program in Python repeats one, and is compared. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as bounds from '../../../src/catalog/bounds.ts';

const known = new Map<string, number>(Object.entries(bounds));
/** A number with a separate name, in TypeScript or Python. */
const CONSTANT = /^(?:export )?(?:const )?([A-Z][A-Z_\d]+) = ([\d_]+);?$/gm;

const constants = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.(ts|py)$/.test(file) && file !== 'catalog/bounds.ts')
  .flatMap((file) =>
    [...readFileSync(join('src', file), 'utf8').matchAll(CONSTANT)].map(([, name = '', text = '']) => ({
      file,
      name,
      value: Number(text.replaceAll('_', '')),
    })),
  );
const isProgram = (file: string): boolean => file.startsWith('exec/programs/');

it('the program in Python has the same bound', () => {
  const repeated = constants.filter(({ file, name }) => isProgram(file) && known.has(name));
  expect(repeated.map(({ file }) => file)).toEqual(['exec/programs/documents/office/saving.py']);
  for (const { file, name, value } of repeated) expect(value, `${name} of ${file}`).toBe(known.get(name));
});

it('nothing else in the catalogue has a bound of that name or that size', () => {
  const values = new Set([bounds.MAX_PIXELS, bounds.MAX_PIXELS_TOGETHER, bounds.MAX_SIDE]);
  const again = constants.filter(
    ({ file, name, value }) => !isProgram(file) && file.startsWith('catalog/') && (known.has(name) || values.has(value)),
  );
  expect(again).toEqual([]);
});
