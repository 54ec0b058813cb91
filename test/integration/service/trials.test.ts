/**
 * Each converter passes its trial, on a file that is known to be good: one that cannot is withdrawn for good, wherever the service runs.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { toolchains } from '../../../src/contracts/toolchains.ts';
import { eventually } from '../../kit/api/wire.ts';
import { endProcess, startProcess, useKnownVersions } from '../../kit/roles/service.ts';

const LIMIT_MS = 300_000;

it.each(toolchains)('every converter of %s works', { timeout: LIMIT_MS + 30_000 }, async (toolchain) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'filemill-trials-'));
  await chmod(dataDir, 0o755);
  await useKnownVersions(dataDir);
  const service = await startProcess(dataDir, { worker: { trials: true, toolchains: [toolchain] } });
  try {
    const ended = () => service.lines.filter((line) => /every converter has been tried|is missing|failed its trial/.test(line));
    await eventually(() => ended().length > 0, 'all are tried', LIMIT_MS);
    expect(ended()).toEqual([expect.stringContaining('every converter has been tried and works')]);
  } finally {
    await endProcess(service);
    await rm(dataDir, { recursive: true, force: true });
  }
});
