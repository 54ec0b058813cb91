/** Whether a font shows the letters of its seed, by fontTools: their squares, their widths, and its name where the format has one. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { type Typeface, typefaceOf } from '../../fixtures/fonts/fonts.ts';
import { remembered } from '../remembered.ts';

const run = promisify(execFile);
const PROGRAM = join(import.meta.dirname, 'fonts.py');
/** Their names are in the lines of X, which converters fill in their own ways. */
const NAMELESS = ['bdf', 'otb', 'cff'];
/** A collection has its fonts in a ZIP. */
const ZIP_OF_FONTS = 2;

const describeFont = remembered(async (path: string, format: string): Promise<readonly Typeface[]> => {
  const { stdout: kind } = await run('file', ['--brief', '--mime-type', path]);
  if (kind.trim() !== 'application/zip' || path.endsWith('.ufoz')) return [await describeOne(path, format)];
  const folder = await mkdtemp(join(tmpdir(), 'filemill-fonts-'));
  try {
    await run('bsdtar', ['-xf', path, '-C', folder]);
    const names = (await readdir(folder)).toSorted();
    expect(names).toHaveLength(ZIP_OF_FONTS);
    return await Promise.all(names.map((name) => describeOne(join(folder, name), format)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

const describeOne = async (path: string, format: string): Promise<Typeface> =>
  JSON.parse((await run('/usr/bin/python3', [PROGRAM, format, path])).stdout) as Typeface;

/** @throws unless the font has the letters of this seed */
export async function judge(path: string, format: string, seed: string): Promise<void> {
  const { family, letters } = typefaceOf(seed);
  for (const found of await describeFont(path, format)) {
    expect(found.letters).toEqual(letters);
    if (!NAMELESS.includes(format)) expect(found.family).toBe(family);
  }
}
