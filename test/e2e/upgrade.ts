/** From the commit before to this one under load, with its chart and its code, and back. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { checkOut, commitBefore } from '../kit/roles/version-before.ts';
import { type Job, load, outputOf, send } from './client.ts';
import { base, checkout, cluster, helm, IMAGES, imageOf, inNamespace, kubectl, program, VALUES } from './cluster.ts';
import { blobOf, type E2eFiles } from './files.ts';
import { dataServers } from './more-pools.ts';
import { eventually, must, step } from './steps.ts';

const BEFORE = 'before';
/** Images of the commit before, with the nodes that hold them. Its other pools run this commit's: the code is the same in all of them, and an image takes a while to copy. */
const OLD = ['app', 'image', '2=pdf'];
const nameOf = (image: string): string => image.replace(/^\d=/, '');
const OLD_NAMES = OLD.map(nameOf);

/** Images of the commit before: its code in this commit's images, whose packages take minutes to install. */
async function imagesBefore(folder: string): Promise<void> {
  const app = join(folder, 'bundle');
  // The page is this commit's: to build the other one takes its libraries.
  await cp(join(checkout, '.cache/web'), join(folder, '.cache/web'), { recursive: true });
  execFileSync(process.execPath, ['images/bundle.ts', app], { cwd: folder, stdio: 'pipe' });
  await cp(join(folder, '.cache/bin'), join(app, '.cache/bin'), { recursive: true });
  for (const name of OLD_NAMES) {
    const container = (await program('buildah', ['from', '--pull-never', imageOf(name)])).trim();
    try {
      await program('buildah', ['run', '--isolation=chroot', '--user=0', container, '--', 'rm', '-rf', '/app/src', '/app/compiled']);
      await program('buildah', ['copy', '--quiet', container, app, '/app']);
      await program('buildah', ['commit', '--quiet', container, imageOf(name, BEFORE)]);
    } finally {
      await program('buildah', ['rm', container]);
    }
  }
  await cluster('load', ...OLD.map((name) => imageOf(name, BEFORE)));
}

/** Sends a PDF to a pool that has no worker. @returns starts one, and says what became of it */
async function waitingOrder(files: E2eFiles): Promise<() => Promise<Job>> {
  await inNamespace('scale', 'toolchainpool', 'pdf', '--replicas=0');
  await eventually(
    'no worker',
    () => inNamespace('get', 'pods', '-l', 'filemill.io/pool=pdf', '-o', 'name'),
    (pods) => pods === '',
    60_000,
  );
  const [content, name] = await blobOf(files.pdf, 'a.pdf');
  const sent = await send(base, '/api/v1/convert', [['file', content, name]], { to_format: 'txt' });
  return async () => {
    must((await sent.state()).status === 'processing', 'its order did not wait');
    await inNamespace('scale', 'toolchainpool', 'pdf', '--replicas=2');
    return await sent.ended();
  };
}

const failedNone = ({ done, failed }: { readonly done: number; readonly failed: readonly string[] }): string => {
  must(failed.length === 0 && done > 0, `${failed.length} of ${done + failed.length} jobs failed: ${failed[0]}`);
  return `${done} jobs, none failed`;
};
const imagesOf = (pool: string) =>
  inNamespace('get', 'pods', '-l', `filemill.io/pool=${pool}`, '-o', 'jsonpath={.items[*].spec.containers[0].image}');

export async function upgrade(files: E2eFiles): Promise<void> {
  const commit = commitBefore();
  if (commit === undefined) return console.log('upgrade: skipped, as this clone has no commit before HEAD: fetch its history to run it');
  const before = await checkOut(commit);
  try {
    await step('images of the commit before', () => imagesBefore(before.folder).then(() => commit.slice(0, 8)));
    await step('helm install of the commit before', async () => {
      // Helm never changes a definition that is there.
      await helm('uninstall', 'filemill', '--wait', '--timeout', '2m');
      await kubectl('delete', 'crd', 'toolchainpools.filemill.io', 'conversionjobs.filemill.io', '--timeout=60s');
      // A toolchain that is new has no pool there.
      const newer = IMAGES.map(nameOf).filter((name) => !OLD_NAMES.includes(name) && existsSync(join(before.folder, 'images', name)));
      const others = newer.flatMap((pool) => ['--set', `pools.${pool}.spec.image=${imageOf(pool)}`]);
      const values = VALUES.map((value) => (value.endsWith('.yaml') ? join(before.folder, value) : value));
      const more = ['--set', `image.tag=${BEFORE}`, ...others, '--wait', '--timeout', '4m'];
      await helm('install', 'filemill', join(before.folder, 'charts/filemill'), ...values, ...more);
      await inNamespace('scale', 'toolchainpool', 'image', '--replicas=3');
      return undefined;
    });
    const photo = [new Blob([files.photo]), 'photo.jpg'] as const;
    const old = await send(base, '/api/v1/convert', [['file', ...photo]], { to_format: 'png' });
    const bytes = await outputOf(await old.ended());
    await step('helm upgrade to this commit under load', async () => {
      const woken = await waitingOrder(files);
      const stop = load(base, files.photo);
      const there = await dataServers();
      await helm('upgrade', 'filemill', join(checkout, 'charts/filemill'), ...VALUES, '--wait', '--timeout', '4m');
      must(
        there === (await dataServers()),
        "the upgrade replaced the trial's NATS or MinIO, and with it all data: leave their pods as they were",
      );
      const note = failedNone(await stop());
      await eventually(
        'the last worker as it was to be gone',
        () => imagesOf('image'),
        (images) => !images.includes(`:${BEFORE}`),
      );
      const capacity = await inNamespace('get', 'tp', 'image', '-o', 'jsonpath={.spec.capacity}');
      must(capacity === '3', `the upgrade changed what kubectl scale wrote to ${capacity}`);
      must((await woken()).status === 'done', 'an order that waited since before the upgrade failed');
      must(bytes.equals(await outputOf(await old.state())), 'a job that ended before the upgrade has another output');
      return `${note}; an order and a record of the commit before were read`;
    });
    await step('helm rollback under load', async () => {
      const woken = await waitingOrder(files);
      const recent = await send(base, '/api/v1/convert', [['file', ...photo]], { to_format: 'png' });
      const output = await outputOf(await recent.ended());
      const stop = load(base, files.photo);
      await helm('rollback', 'filemill', '1', '--wait', '--timeout', '4m');
      const note = failedNone(await stop());
      must((await imagesOf('image')).includes(`:${BEFORE}`), `workers run ${await imagesOf('image')}`);
      must((await woken()).status === 'done', 'an order that waited since before the rollback failed');
      must(output.equals(await outputOf(await recent.state())), 'a job that ended before the rollback has another output');
      return `${note}; an order and a record of this commit were read`;
    });
  } finally {
    await before.remove();
    await program('buildah', ['rmi', ...OLD_NAMES.map((name) => imageOf(name, BEFORE))]).catch(() => {});
  }
}
