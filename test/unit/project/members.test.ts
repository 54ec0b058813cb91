/** Each member of the catalogue, and each thing that operators and clients meet by a name, is named by some test: one that no test names may be broken for long. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { ZodType } from 'zod';
import { engines } from '../../../src/catalog/engines.gen.ts';
import { optionNames } from '../../../src/catalog/options/options.ts';
import { tools } from '../../../src/catalog/tools.ts';
import { configSchema } from '../../../src/config.ts';
import { errorTable, reasonTable } from '../../../src/errors.ts';
import { checkout } from '../../kit/roles/service.ts';

const read = (path: string): string => readFileSync(join(checkout, path), 'utf8');
/** Tests, their kit, and the list of conversions that tests prove, each with the engines on its way. */
const TESTS = globSync('test/**/*.{ts,py,sh,yaml,txt}', { cwd: checkout, exclude: ['**/node_modules/**', 'test/unit/**/members.test.ts'] })
  .map(read)
  .join('\n');
/** What a metric of Prometheus adds to its name (https://prometheus.io/docs/concepts/metric_types/). */
const SERIES = '(?:_(?:bucket|sum|count))?';
const isNamed = (name: string): boolean => new RegExp(`(?<![\\w-])${RegExp.escape(name)}${SERIES}(?![\\w-])`).test(TESTS);

/** The paths of all values below. */
function leaves(tree: unknown, at: readonly string[] = []): readonly string[] {
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree) || Object.keys(tree).length === 0) return [at.join('.')];
  return Object.entries(tree).flatMap(([key, value]) => leaves(value, [...at, key]));
}
/** The shape of a schema, below what presets and makes optional; undefined for one of a single value. */
function shapeOf(schema: ZodType): Readonly<Record<string, ZodType>> | undefined {
  const { def, shape } = schema as unknown as { def: { innerType?: ZodType; out?: ZodType }; shape?: Readonly<Record<string, ZodType>> };
  const inner = def.innerType ?? def.out;
  return inner === undefined ? shape : shapeOf(inner);
}
const settings = (schema: ZodType, at: readonly string[] = []): readonly string[] => {
  const shape = shapeOf(schema);
  return shape === undefined ? [at.join('.')] : Object.entries(shape).flatMap(([key, value]) => settings(value, [...at, key]));
};
const found = (files: string, pattern: RegExp): readonly string[] =>
  globSync(files, { cwd: checkout }).flatMap((path) => [...read(path).matchAll(pattern)].map(([, name]) => name ?? ''));
/** A path is told by its last key: tests write the others as groups around it. */
const lastKey = (path: string): string => path.slice(path.lastIndexOf('.') + 1);

const FAMILIES: readonly (readonly [string, readonly string[], number])[] = [
  ['engine', engines.map(({ id }) => id), 50],
  ['tool', tools.map(({ slug }) => slug), 30],
  ['option', optionNames, 30],
  ['setting, such as a limit', settings(configSchema), 100],
  ['limit of a file', found('src/**/*.ts', /(?:\blimit: |\binputLimit\()'([a-z_]+)'/g), 10],
  ['code of an error', Object.keys(errorTable), 20],
  ['reason of a failure', Object.keys(reasonTable), 20],
  ['metric', found('src/**/*.ts', /\bname: '(filemill_\w+)'/g), 20],
  ['value of the chart', leaves(parse(read('charts/filemill/values.yaml'))), 200],
];

describe('a test names', () => {
  it.each(FAMILIES)('each %s', (_, names, atLeast) => {
    expect(names.length).toBeGreaterThanOrEqual(atLeast);
    expect(names.filter((name) => !isNamed(lastKey(name)))).toEqual([]);
  });

  it('no engine that is not there', () => expect(isNamed(['engine', 'of', 'nobody'].join('-'))).toBe(false));
});
