/** What is bounded while a JSON text is looked through, and which keys are the same. */
import { expect, it } from 'vitest';
import { scanJson } from '../../../../../src/exec/programs/data/values/json-scan.ts';

const inside = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const limit = (name: string, max: number) =>
  expect.objectContaining({ reason: 'input_limit', details: expect.objectContaining({ limit: name, max }) });

it('reads as many levels as values may have, and no more', () => {
  expect(scanJson(inside(201)).errorAt).toBeUndefined();
  for (const text of [inside(202), '['.repeat(8 << 20), '{"a":'.repeat(1 << 20)])
    expect(() => scanJson(text)).toThrow(limit('levels', 200));
});

it('remembers a million of the numbers that JSON does not have, and no more', () => {
  expect(scanJson(`[${'NaN,'.repeat(999_999)}NaN]`).bare).toHaveLength(1_000_000);
  expect(() => scanJson(`[${'NaN,'.repeat(1_000_000)}NaN]`)).toThrow(limit('numbers that JSON does not have', 1_000_000));
});

it.each([
  ['{"a":1,"\\u0061":2}', [7]],
  ['{"\\u002F":1,"\\/":2,"/":3}', [12, 19]],
  ['{"a":1,"\\\\u0061":2}', []],
  ['{"a":{"a":1},"b":["a"]}', []],
])('knows a key by what it says: %s', (text, duplicates) => {
  expect(scanJson(text)).toMatchObject({ errorAt: undefined, duplicates });
});
