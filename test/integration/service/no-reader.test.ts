/** A service whose output nothing reads any more, as behind a `tee` that was killed: it serves, and ends when it is told to. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../kit/api/wire.ts';
import { freePort } from '../../kit/exec/ports.ts';

let dataDir: string;
let service: ChildProcess | undefined;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'filemill-no-reader-'));
});
afterEach(async () => {
  service?.kill('SIGKILL');
  await rm(dataDir, { recursive: true, force: true });
});

it('goes on, and stops in good order', async () => {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), DATA_DIR: dataDir, TOOLCHAINS: 'image' };
  service = spawn(process.execPath, ['src/main.ts', 'local'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(service, 'exit');
  await once(service.stdout ?? service, 'data');
  service.stdout?.destroy();
  service.stderr?.destroy();
  const answers = (path: string) =>
    fetch(`http://localhost:${port}${path}`).then(
      ({ ok }) => ok || undefined,
      () => undefined,
    );
  await eventually(() => answers('/readyz'), 'it to serve', 60_000);
  // Each is a line of the log.
  for (let n = 0; n < 3; n++) expect(await answers('/api/v1/limits')).toBe(true);
  service.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
}, 120_000);
