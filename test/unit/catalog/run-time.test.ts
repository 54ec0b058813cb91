/** How long a step may run follows from how large its input is, and never exceeds what the operator allows. */
import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StepLimits } from '../../../src/catalog/engine.ts';
import { engine as libreoffice } from '../../../src/catalog/engines/documents/libreoffice.ts';
import { engine as pandoc } from '../../../src/catalog/engines/documents/pandoc.ts';
import { engine as rsvg } from '../../../src/catalog/engines/drawings/rsvg.ts';
import { engine as ffmpeg } from '../../../src/catalog/engines/media/ffmpeg.ts';
import { engine as poppler } from '../../../src/catalog/engines/pdf/poppler.ts';
import { runTimeMs } from '../../../src/catalog/planning/run-time.ts';
import { allowanceOf, engineRoles } from '../../../src/contracts/toolchains.ts';
import { limitsFor } from '../../../src/worker/conversion/run-hop.ts';

const KB = 1000;
const MIB = 1 << 20;
const ALLOWED: StepLimits = { memoryBytes: 2 ** 31, cpuSeconds: 7200, fileBytes: 1, folderBytes: 1, processes: 1, wallMs: 600_000 };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-run-time-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function fileOf(bytes: number): Promise<string> {
  const path = join(folder, String(bytes));
  await writeFile(path, '');
  await truncate(path, bytes);
  return path;
}

describe('the run time of a step', () => {
  it.each([
    [pandoc, 1 * KB, 61],
    [pandoc, 100 * KB, 66],
    [pandoc, 9 * MIB, 600],
    [pandoc, 200 * MIB, 600],
    [poppler, 1 * KB, 121],
    [poppler, 2 * MIB, 600],
    [libreoffice, 1 * KB, 121],
    [rsvg, 1 * KB, 120],
    [rsvg, 200 * MIB, 120],
    [ffmpeg, 1 * KB, 301],
    [ffmpeg, 200 * MIB, 600],
  ] as const)('of %o with %i bytes is %i s', async (engine, bytes, seconds) => {
    const { wallMs } = limitsFor(engine, ALLOWED, [await fileOf(bytes)]);
    expect(Math.ceil(wallMs / 1000)).toBe(seconds);
  });

  it('counts all inputs together', async () => {
    const two = [await fileOf(MIB), await fileOf(2 * MIB)];
    expect(limitsFor(pandoc, ALLOWED, two).wallMs).toBe(240_000);
  });

  it('is never more than the operator allows, nor are its other limits', async () => {
    const limits = limitsFor(libreoffice, { ...ALLOWED, wallMs: 5000, memoryBytes: 1000 }, [await fileOf(MIB)]);
    expect(limits).toMatchObject({ wallMs: 5000, memoryBytes: 1000, cpuSeconds: 7200 });
  });

  it('reaches the longest that decisions allow well before the largest file', () => {
    for (const role of engineRoles) {
      const longest = role === 'audio_video' || role === 'speech' ? 3600 : 600;
      expect(runTimeMs(role, 100 * MIB), role).toBeGreaterThanOrEqual(longest * 1000);
    }
  });
});

it.each(engineRoles)('docs/bounds.md tells what %s may take', async (role) => {
  const [, base, perMiB] =
    new RegExp(`^\\| \`${role}\`: [^|]+ \\| (\\d+) \\| (\\d+) \\| `, 'm').exec(await readFile('docs/bounds.md', 'utf8')) ?? [];
  expect({ base: Number(base), perMiB: Number(perMiB) }).toEqual(allowanceOf(role));
});
