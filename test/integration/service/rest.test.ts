/** A service at rest: no request, no job, all converters tried or none to be. */
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { endProcess, startProcess, useKnownVersions } from '../../kit/roles/service.ts';

/** How often its main thread went to sleep since its start: each time that it woke, and however busy the machine is. */
async function sleepsOf(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/task/${pid}/status`, 'utf8');
  return Number(/^voluntary_ctxt_switches:\s*(\d+)$/m.exec(status)?.[1]);
}

const SECONDS = 15;

it('wakes for its watch of the event loop, and hardly otherwise', { timeout: 300_000 }, async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'filemill-rest-'));
  await chmod(dataDir, 0o755);
  await useKnownVersions(dataDir);
  const service = await startProcess(dataDir);
  try {
    // What the API's document and its lists say is built soon after a start.
    await pause(20_000);
    const before = await sleepsOf(service.child.pid);
    await pause(SECONDS * 1_000);
    expect(((await sleepsOf(service.child.pid)) - before) / SECONDS).toBeLessThan(35);
  } finally {
    await endProcess(service);
    await rm(dataDir, { recursive: true, force: true });
  }
});
