/** The files of a recipe: never more of them than the slot's part of the work folder has room for. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Judge } from '../../../src/judge/judge.ts';
import { readCarried, writeCarried } from '../../../src/worker/conversion/recipes/carry.ts';
import { resultsIn } from '../../../src/worker/conversion/recipes/deliver.ts';
import { besideKept, type KeptFiles, keptIn, mostKept } from '../../../src/worker/conversion/recipes/kept.ts';
import { lossesOf } from '../../../src/worker/conversion/recipes/stint.ts';

const { signal } = new AbortController();
let home: string;
let kept: KeptFiles;
const folder = (name: string) => join(home, name);
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-recipe-'));
  for (const name of ['a', 'b', 'delivery']) await mkdir(folder(name));
  kept = keptIn(folder('a'), 1_000);
  for (const part of [0, 1]) {
    const { path } = kept.add({ step: 0, order: 0, part, format: 'txt', extension: 'txt', name: `part-${part}`, sizeBytes: 5 });
    await writeFile(path, `text${part}`);
  }
});
afterEach(() => rm(home, { recursive: true, force: true }));

it.each([2 ** 31, 2 ** 28, 2 ** 24])('are half of %i bytes at most, and a conversion has what they leave', (folderBytes) => {
  const limits = { memoryBytes: 1, cpuSeconds: 1, fileBytes: Math.min(2 ** 30, folderBytes), folderBytes, processes: 1, wallMs: 1 };
  expect(2 * mostKept(folderBytes)).toBeLessThanOrEqual(folderBytes);
  for (const bytes of [0, 1_000, mostKept(folderBytes)]) {
    const { folderBytes: left, fileBytes } = besideKept(limits, bytes);
    expect(left).toBe(folderBytes - bytes);
    expect(fileBytes).toBeLessThanOrEqual(left + 2 ** 20);
  }
});

it('are there once after they came from another pool', async () => {
  const path = folder('carried');
  await writeCarried(path, kept, 7, signal);
  const there = keptIn(folder('b'), 1_000);
  expect(await readCarried(path, there, signal)).toBe(7);
  expect(there.of(0).map(({ name }) => name)).toEqual(['part-0', 'part-1']);
  expect(existsSync(path)).toBe(false);
});

describe('what a step makes', () => {
  const archive = (files: number) => ({ contents: { archive: { files, folders: 0, links: 0, newest: '', programs: 0, bytes: files } } });
  /** @param files that the result is found to have */
  const losses = async (files: number) => {
    const read: string[] = [];
    const contentsOf: Judge['contentsOf'] = async (_, path) => {
      read.push(path);
      return archive(files);
    };
    const judge = { contentsOf } as Judge;
    await writeFile(folder('made.zip'), 'x');
    const found = { source: archive(3), result: {}, options: {} };
    const made = {
      base: home,
      files: [{ folder: home, name: 'made.zip', label: '' }],
      warnings: [],
      engine: { name: 'e', version: '1' },
      found,
    };
    const taken = await kept.take(made, { step: 1, order: 0, format: 'zip', extension: 'zip', name: 'made' }, signal);
    const warnings = await lossesOf({ judge }, made, taken);
    expect(read).toEqual(taken.map(({ path }) => path));
    return warnings.map(({ code }) => code);
  };

  it('is judged as the result of a job', async () => {
    expect(await losses(3)).toEqual([]);
    expect(await losses(2)).toEqual(['property_lost']);
    await expect(losses(0)).rejects.toMatchObject({ details: { reason: 'property_lost', lost: ['files'] } });
  });
});

it('are kept no more once they are packed', async () => {
  const steps = [{ name: 'parts', do: 'convert', from: ['files'], options: {} }];
  const [result] = await resultsIn(folder('delivery'), { steps, outputs: ['parts'] }, kept, undefined, signal);
  expect(result).toMatchObject({ filename: 'parts-filemill.zip', files: 2 });
  expect([await readdir(folder('a')), await readdir(folder('delivery'))]).toEqual([[], ['result-0']]);
});
