/** A worker under the restrictions of its pod: another user than root, no capability, and a root file system that cannot be written to. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ToolchainPool } from '../../../src/contracts/kubernetes/toolchain-pool.ts';
import { templateOf } from '../../../src/controller/pools/apply/template.ts';
import { eventually } from '../../kit/api/wire.ts';
import { fixtures } from '../../kit/fixtures/documents/documents.ts';
import { type Cluster, startCluster } from '../../kit/roles/cluster.ts';
import { convertTo, type Starting, spawnService } from '../../kit/roles/service.ts';
import { containerCommand, type PodSpec } from './container.ts';

const run = promisify(execFile);
/** Who is not root cannot make another root. */
const canMount =
  process.getuid?.() === 0 &&
  (await run('unshare', ['-m', 'true']).then(
    () => true,
    () => false,
  ));

let service: Cluster;
let folder: string;
let url: string;
const workers: Starting[] = [];

/** As the controller would have it started. @param change of the pod */
async function startWorker(toolchain: string, change: (pod: PodSpec) => PodSpec = (pod) => pod): Promise<Starting> {
  const pool = ToolchainPool.parse({
    apiVersion: 'filemill.io/v1alpha1',
    kind: 'ToolchainPool',
    metadata: { name: toolchain, namespace: 'default' },
    spec: { image: 'filemill', terminationGraceSeconds: 10, natsSecretRef: { name: 'nats' } },
  });
  const { pod } = templateOf(pool, service.nats.addresses) as unknown as { readonly pod: { readonly spec: PodSpec } };
  const root = join(await mkdtemp(join(folder, 'pod-')), 'root');
  await mkdir(root);
  // The probes' port is one of the machine's here, not the pod's.
  const command = await containerCommand(root, `filemill-${toolchain}-0-abcde`, change(pod.spec), { METRICS_PORT: '0' });
  const worker = await spawnService(folder, {}, {}, command);
  workers.push(worker);
  return worker;
}

const said = async ({ lines, child }: Starting, what: RegExp): Promise<void> => {
  await eventually(() => child.exitCode !== null || lines.some((line) => what.test(line)), String(what), 90_000);
  expect(lines.filter((line) => !line.startsWith('{')).join('\n')).toMatch(what);
};

/** Its first word comes a moment after its start. */
const isOffered = (from: string, to: string) =>
  eventually(
    async () => {
      const { data } = (await (await fetch(`${url}/api/v1/formats?from=${from}`)).json()) as {
        data: { sources: { targets: { format: string }[] }[] };
      };
      return data.sources.some(({ targets }) => targets.some(({ format }) => format === to));
    },
    `${from} to ${to}`,
    30_000,
  );

describe.skipIf(!canMount)('a worker in its pod', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filemill-container-'));
    service = await startCluster();
    ({ url = '' } = await service.start('api'));
  });
  afterAll(async () => {
    for (const { child } of workers) child.kill('SIGKILL');
    await Promise.all(workers.map(({ ended }) => ended));
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('has no right of root, converts a picture, and ends well when it is told to', async () => {
    const worker = await startWorker('image');
    await said(worker, /takes orders of the pool image/);
    const status = await readFile(`/proc/${worker.child.pid}/status`, 'utf8');
    for (const line of [/^Uid:\s+10001\s+10001\s+10001\s+10001$/m, /^CapBnd:\s+0+$/m, /^CapEff:\s+0+$/m, /^NoNewPrivs:\s+1$/m])
      expect(status).toMatch(line);
    const red = await sharp({ create: { width: 64, height: 48, channels: 3, background: '#c02040' } })
      .png()
      .toFile(join(folder, 'red.png'))
      .then(() => join(folder, 'red.png'));
    await isOffered('png', 'jpg');
    const { path } = await convertTo(url, folder, red, 'jpg');
    expect((await sharp(path).stats()).channels[0]?.mean).toBeGreaterThan(185);
    worker.child.kill('SIGTERM');
    await worker.ended;
    expect(worker.child.exitCode).toBe(0);
  });

  it('converts with LibreOffice, which wants a home for its profile', async () => {
    const worker = await startWorker('office');
    await said(worker, /takes orders of the pool office/);
    await isOffered('docx', 'pdf');
    const docx = (await fixtures['docx']?.('pod', folder)) ?? '';
    const { path, job } = await convertTo(url, folder, docx, 'pdf');
    expect(job.status).toBe('done');
    expect((await run('pdfinfo', [path])).stdout).toMatch(/^Pages:\s+[1-9]/m);
  });

  it('says what it lacks when it has no volume to write to', async () => {
    const worker = await startWorker('image', (pod) => ({ ...pod, volumes: [] }));
    await worker.ended;
    expect(worker.lines).toEqual([
      'filemill cannot start: the data folder /work cannot be written (ENOENT): make it writable, or set DATA_DIR',
    ]);
    expect(worker.child.exitCode).toBe(1);
  });
});
