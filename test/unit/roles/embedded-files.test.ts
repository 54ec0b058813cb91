/** A file that a record does without is deleted only when that record is sure to last. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/config.ts';
import { openEmbedded } from '../../../src/roles/machine/embedded.ts';

it('is kept for a while after changes were lost', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'filemill-embedded-'));
  const embedded = await openEmbedded(loadConfig({ DATA_DIR: dataDir }), () => () => {}, Date.now, '0.0.0');
  onTestFinished(async () => {
    await embedded.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  const { objects, durability } = embedded;
  for (const key of ['jobs/a/input-0', 'jobs/b/input-0']) await objects.put(key, Readable.from(['x']), 10);
  await objects.delete('jobs/a/input-0');
  expect(await objects.head('jobs/a/input-0')).toBeUndefined();
  // As where the disk is full (test/unit/sqlite/shared.test.ts).
  (durability as { losses: number }).losses++;
  for (let turn = 0; turn < 2; turn++) await expect(objects.delete('jobs/b/input-0')).rejects.toThrow('may need its files again');
  expect(await objects.head('jobs/b/input-0')).toBeDefined();
});
