/** Vitest's global setup: one service, in a process beside the tests, for all files that need nothing but a running one. It starts when the first of them asks. */
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { cpuTime, noteCpu } from './kit/exec/cpu.ts';
import { endProcess, keepVersions, type ServiceProcess, startProcess, useKnownVersions } from './kit/roles/service.ts';

/** More than it says of any conversion is not kept. */
const LAST_LINES = 20;

export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  let starting: Promise<Shared> | undefined;
  const server = createServer((_, response) => {
    starting ??= start();
    starting.then(
      ({ url }) => response.end(JSON.stringify({ url })),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  provide('sharedServiceAt', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    server.close();
    const shared = await starting?.catch(() => undefined);
    if (shared === undefined) return;
    const { child, lines, dataDir } = shared;
    const endedBefore = child.exitCode ?? child.signalCode;
    // Warm programs that still run are left out: their time joins its own when they end.
    const { own, children } = endedBefore === null && child.pid !== undefined ? cpuTime(child.pid) : { own: 0, children: 0 };
    await endProcess(shared);
    noteCpu('the shared service', own + children);
    await rm(dataDir, { recursive: true, force: true });
    // Tests after its end have failed for another reason than the one that they name.
    if (endedBefore !== null) throw new Error(`the shared service ended with ${endedBefore}: ${lines.slice(-LAST_LINES).join('\n')}`);
  };
}

interface Shared extends ServiceProcess {
  readonly dataDir: string;
}

async function start(): Promise<Shared> {
  const dataDir = await mkdtemp(join(tmpdir(), 'filemill-shared-'));
  await chmod(dataDir, 0o755);
  await useKnownVersions(dataDir);
  const service = await startProcess(dataDir, {}, { LOG_LEVEL: process.env['TEST_LOG'] ?? 'error' });
  await keepVersions(dataDir);
  return { dataDir, ...service };
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Where to ask for the URL of the shared service, which starts it. */
    sharedServiceAt: string;
  }
}
