/**
 * `make e2e`: a real cluster on this machine, the chart installed on it with its values for a trial, and the service used, scaled, upgraded
 * under load, rolled back and removed. Says what it does and how long each step took; removes all it made, also when it is interrupted.
 *
 *   scripts/e2e [--keep] [PART…]    --keep leaves the cluster, and uses one that is there; PART is one of `PARTS` or `APART`;
 *                                   all `PARTS` but those of the night unless given
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { autoscale } from './autoscaling.ts';
import { bare } from './bare.ts';
import { checkout, clusterDir, environment, inNamespace, node } from './cluster.ts';
import { confine } from './confinement.ts';
import { crowd } from './crowd.ts';
import { useDevice } from './device.ts';
import { breakThings } from './faults.ts';
import { type E2eFiles, makeFiles } from './files.ts';
import { helm3Release } from './helm3.ts';
import { throughIngress } from './ingress.ts';
import { install } from './install.ts';
import { lose } from './losses.ts';
import { measure } from './measure.ts';
import { mountModels } from './models.ts';
import { addPool } from './more-pools.ts';
import { rotate } from './rotation.ts';
import { scrape } from './scraping.ts';
import { passedSteps } from './steps.ts';
import { throughput } from './throughput.ts';
import { uninstall } from './uninstall.ts';
import { upgrade } from './upgrade.ts';
import { use } from './use.ts';

const args = process.argv.slice(2);
const keep = args.includes('--keep');
/** In this order; with --keep each may be repeated alone after `install`. */
const PARTS: Readonly<Record<string, (files: E2eFiles) => Promise<void>>> = {
  install: () => install(keep),
  use,
  pools: addPool,
  models: mountModels,
  scraping: scrape,
  confinement: confine,
  measure,
  ingress: throughIngress,
  faults: breakThings,
  losses: lose,
  rotation: rotate,
  upgrade,
  uninstall,
  helm3: helm3Release,
  throughput,
  crowd,
  device: useDevice,
  autoscaling: autoscale,
};
/** Only where they are asked for: README.md says what each shows. */
const AT_NIGHT: ReadonlySet<string> = new Set(['losses', 'rotation', 'throughput', 'crowd', 'device', 'autoscaling']);
/** These need no cluster: `make e2e` runs them while it builds what the others need. */
const APART: Readonly<Record<string, (folder: string) => Promise<void>>> = { bare };

if (process.getuid?.() !== 0) {
  console.error('e2e: it needs root, for containers on this machine');
  process.exit(1);
}
const asked = args.filter((name) => name !== '--keep');
const known = Object.keys({ ...PARTS, ...APART });
const unknown = asked.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`e2e: there is no part ${unknown.join(', ')}; there are: ${known.join(' ')}`);
  process.exit(2);
}
const onCluster = asked.length === 0 || asked.some((name) => PARTS[name] !== undefined);

/** What the nodes' images, the volumes and one image on its way to a node take, GB. */
const NEEDS_GB = 10;
async function freeGb(): Promise<number> {
  const { bavail, bsize } = await statfs(
    await statfs(clusterDir).then(
      () => clusterDir,
      () => dirname(clusterDir),
    ),
  );
  return Math.round((bavail * bsize) / 1e8) / 10;
}

async function runParts(folder: string): Promise<void> {
  for (const [name, part] of Object.entries(APART)) if (asked.includes(name)) await part(folder);
  if (!onCluster) return;
  const files = await makeFiles(folder);
  for (const [name, part] of Object.entries(PARTS)) if (asked.length === 0 ? !AT_NIGHT.has(name) : asked.includes(name)) await part(files);
}

if (onCluster) {
  const free = await freeGb();
  console.log(
    `e2e: a cluster in ${clusterDir}, reached at ${node}${keep ? '' : '; it is removed at the end'}; the disk has ${free} GB free`,
  );
  if (free < NEEDS_GB && !existsSync(clusterDir)) {
    console.error(`e2e: it needs about ${NEEDS_GB} GB: Kubernetes evicts the pods of a node whose disk is full`);
    process.exit(1);
  }
}
const folder = await mkdtemp(join(tmpdir(), 'filemill-e2e-'));
let failed: unknown;
const interrupted = Promise.withResolvers<never>();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => interrupted.reject(new Error(`interrupted by ${signal}`)));
// A job that fails before its step has come to ask for it.
process.on('unhandledRejection', (reason) => interrupted.reject(reason instanceof Error ? reason : new Error(String(reason))));
try {
  await Promise.race([runParts(folder), interrupted.promise]);
} catch (error) {
  failed = error;
  console.log(`\nFAILED: ${(error as Error).message}`);
  if (onCluster) console.log(`the disk has ${await freeGb()} GB free`);
  for (const what of onCluster ? ['pods,toolchainpools', 'events'] : [])
    console.log(
      await inNamespace('get', what, ...(what === 'events' ? ['--sort-by=.lastTimestamp'] : ['-o', 'wide'])).then(
        (text) => text.split('\n').slice(-25).join('\n'),
        String,
      ),
    );
}
await rm(folder, { recursive: true, force: true });
// Not by `cluster`: its own commands may hang with what failed.
// Removing the nodes' images takes a minute on a busy machine.
if (onCluster && !keep) {
  const { status } = spawnSync('scripts/cluster', ['down'], { cwd: checkout, env: environment, stdio: 'inherit', timeout: 300_000 });
  if (status !== 0) failed ??= new Error('the cluster could not be removed: scripts/cluster down');
}
console.log(`${passedSteps()} passed, ${failed === undefined ? 0 : 1} failed`);
process.exit(failed === undefined ? 0 : 1);
