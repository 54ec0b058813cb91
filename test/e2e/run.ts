/**
 * `make e2e`: a real cluster on this machine, the chart installed on it with its values for a trial, and the service used, scaled, upgraded
 * under load, rolled back and removed. Says what it does and how long each step took; removes all it made, also when it is interrupted.
 *
 *   node test/e2e/run.ts [--keep]    --keep leaves the cluster, and uses one that is there
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'minio';
import sharp from 'sharp';
import { fixtures as documents } from '../kit/fixtures/documents.ts';
import { fixtures as media } from '../kit/fixtures/media.ts';
import { convert, load, submit } from './client.ts';

const execute = promisify(execFile);
const checkout = join(import.meta.dirname, '../..');
const { version } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as { version: string };
const lane = process.env['CLUSTER_LANE'] ?? '0';
const node = `10.${200 + Number(lane)}.0.1`;
const clusterDir = process.env['CLUSTER_DIR'] ?? join(checkout, '.cache/cluster');
const keep = process.argv.includes('--keep');
const NAMESPACE = 'filemill';
const NODE_PORT = 30_080;
const base = `http://${node}:${NODE_PORT}`;
const environment = {
  ...process.env,
  KUBECONFIG: join(clusterDir, 'kubeconfig'),
  HELM_CACHE_HOME: '/tmp/.helm',
  HELM_DATA_HOME: '/tmp/.helm',
};
/** What of the images goes to which node, by the labels that test/e2e/values.yaml asks for. */
const IMAGES = ['app', '1=image', '1=media', '2=pdf', '2=office'];
const NEXT = 'next';

const program = async (file: string, args: readonly string[], timeout = 300_000): Promise<string> =>
  (await execute(file, args, { env: environment, cwd: checkout, timeout, maxBuffer: 64 << 20 })).stdout;
const cluster = (...args: readonly string[]) => program('scripts/cluster', args);
const kubectl = (...args: readonly string[]) => program('.cache/bin/kubectl', args, 120_000);
const inNamespace = (...args: readonly string[]) => kubectl('--namespace', NAMESPACE, ...args);
const helm = (...args: readonly string[]) => program('.cache/bin/helm', [...args, '--namespace', NAMESPACE], 300_000);
const VALUES = ['--values', 'charts/filemill/values-trial.yaml', '--values', 'test/e2e/values.yaml', '--set', `api.publicUrl=${base}`];
const imageOf = (name: string, tag = version): string => name.replace(/(?<=^(?:\d=)?)(\w+)$/, `localhost/filemill/$1:${tag}`);

/** @throws with the last answer, when it does not hold in time */
async function eventually<T>(what: string, ask: () => Promise<T>, holds: (found: T) => boolean, ms = 90_000): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const found = await ask().catch((error: Error) => error);
    if (!(found instanceof Error) && holds(found)) return found;
    if (Date.now() > end)
      throw new Error(`${what}: not within ${ms / 1000} s; last: ${found instanceof Error ? found.message : JSON.stringify(found)}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

const times: (readonly [step: string, ms: number, note: string])[] = [];
async function step(what: string, work: () => Promise<string | undefined>): Promise<void> {
  process.stdout.write(`${what} … `);
  const start = performance.now();
  const note = (await work()) ?? '';
  const ms = performance.now() - start;
  times.push([what, ms, note]);
  console.log(`${(ms / 1000).toFixed(1)} s${note === '' ? '' : `: ${note}`}`);
}

/** When a container's first process began, ms since the epoch. */
const BEGUN = `
const { readFileSync } = require('node:fs');
const ticks = Number(readFileSync('/proc/1/stat', 'utf8').split(') ')[1].split(' ')[19]);
console.log(Date.now() - (Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) - ticks / 100) * 1000);`;

interface Pods {
  readonly items: readonly {
    readonly status: { readonly containerStatuses?: readonly { readonly ready: boolean; readonly restartCount: number }[] };
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  }[];
}
/** How often containers of the trial's servers were started again; -1 while one of them is not ready. */
function restartsOf(text: string): number {
  const servers = (JSON.parse(text) as Pods).items.filter(({ metadata }) =>
    /^(nats|minio)$/.test(metadata.labels['app.kubernetes.io/component'] ?? ''),
  );
  const states = servers.flatMap(({ status }) => status.containerStatuses ?? []);
  if (states.length !== 2 || states.some(({ ready }) => !ready)) return -1;
  return states.reduce((sum, { restartCount }) => sum + restartCount, 0);
}
const head = (bytes: Buffer, length: number): string => bytes.subarray(0, length).toString('latin1');

async function story(folder: string): Promise<void> {
  const photo = await sharp({
    create: { width: 2_000, height: 1_500, channels: 3, background: '#4a7', noise: { type: 'gaussian', mean: 128, sigma: 30 } },
  })
    .jpeg()
    .toBuffer();
  const [docx, pdf, video] = await Promise.all([
    documents['docx']?.('e2e', folder) ?? '',
    documents['pdf']?.('e2e', folder) ?? '',
    media['mp4']?.('e2e', folder) ?? '',
  ]);
  const file = async (path: string, name: string) => [new Blob([await readFile(path)]), name] as const;

  await step('a cluster with two nodes', async () => {
    if (!(keep && spawnSync('scripts/cluster', ['enter', 'true']).status === 0)) await cluster('up');
    return undefined;
  });
  await step('its images', async () => {
    await cluster('servers');
    await cluster(
      'load',
      ...IMAGES.map((name) => imageOf(name)),
      'docker.io/library/nats:2.14-alpine',
      'docker.io/minio/minio:RELEASE.2025-09-07T16-13-09Z',
    );
    return undefined;
  });
  await step('helm install, in a namespace that enforces `restricted`', async () => {
    await kubectl('create', 'namespace', NAMESPACE);
    await kubectl('label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted');
    await helm('install', 'filemill', 'charts/filemill', ...VALUES, '--wait', '--timeout', '4m');
    return undefined;
  });
  await step(
    'helm test',
    async () => /converted a PNG.*/.exec(await helm('test', 'filemill', '--logs', '--timeout', '2m'))?.[0] ?? 'no word of it',
  );

  await step('each pool has reported its engines', async () => {
    for (const pool of ['image', 'media', 'pdf', 'office'])
      await eventually(
        pool,
        () => inNamespace('get', 'tp', pool, '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'),
        (ready) => ready === 'True',
      );
    return undefined;
  });
  await step('a photo, warm', async () => {
    const { job, bytes } = await convert(base, [new Blob([photo]), 'photo.jpg'], 'webp');
    must(head(bytes, 4) === 'RIFF', 'the photo became no WebP');
    return `${job.engine?.name}, ${bytes.length} bytes`;
  });
  await step('a DOCX', async () => {
    const { job, bytes } = await convert(base, await file(docx, 'letter.docx'), 'pdf');
    must(head(bytes, 4) === '%PDF', 'the letter became no PDF');
    return job.engine?.name;
  });
  await step('a video', async () => {
    const { job, bytes } = await convert(base, await file(video, 'clip.mp4'), 'mp3');
    must(bytes.length > 500, 'its sound is empty');
    return job.engine?.name;
  });
  await step('a PDF tool', async () => {
    const { bytes } = await submit(base, '/api/v1/tools/merge-pdf', [
      ['files[]', ...(await file(pdf, 'a.pdf'))],
      ['files[]', ...(await file(pdf, 'b.pdf'))],
    ]);
    must(head(bytes, 4) === '%PDF', 'it merged no PDF');
    return `${bytes.length} bytes`;
  });
  await step('a pool at rest, from no worker to a result', async () => {
    // Whoever deletes a worker's Job has it replaced only where there is work.
    await inNamespace('delete', 'jobs', '-l', 'filemill.io/pool=pdf', '--wait=true');
    await eventually(
      'no worker',
      () => inNamespace('get', 'pods', '-l', 'filemill.io/pool=pdf', '-o', 'name'),
      (pods) => pods === '',
      60_000,
    );
    const start = performance.now();
    const { bytes } = await convert(base, await file(pdf, 'a.pdf'), 'txt');
    must(bytes.length > 0, 'no text');
    return `${Math.round(performance.now() - start)} ms`;
  });

  await step('a ConversionJob by kubectl', async () => {
    const ip = await inNamespace('get', 'pod', 'filemill-minio-0', '-o', 'jsonpath={.status.podIP}');
    const key = async (name: string) =>
      Buffer.from(await inNamespace('get', 'secret', 'filemill-minio', '-o', `jsonpath={.data.${name}}`), 'base64').toString();
    const store = new Client({
      endPoint: ip,
      port: 9_000,
      useSSL: true,
      accessKey: await key('S3_ACCESS_KEY_ID'),
      secretKey: await key('S3_SECRET_ACCESS_KEY'),
      // Its certificate names the Service, not the pod.
      transportAgent: new Agent({ rejectUnauthorized: false }),
    });
    await store.putObject('filemill', `imports/${NAMESPACE}/photo.jpg`, photo);
    const path = join(folder, 'job.yaml');
    const manifest = {
      apiVersion: 'filemill.io/v1alpha1',
      kind: 'ConversionJob',
      metadata: { name: 'photo' },
      spec: { source: { key: 'photo.jpg' }, toFormat: 'png' },
    };
    await writeFile(path, JSON.stringify(manifest));
    await inNamespace('apply', '--filename', path);
    await inNamespace('wait', '--for=condition=Complete', 'conversionjob/photo', '--timeout=60s');
    const url = await inNamespace('get', 'conversionjob/photo', '-o', 'jsonpath={.status.output.url}');
    const bytes = Buffer.from(await (await fetch(url, { signal: AbortSignal.timeout(20_000) })).arrayBuffer());
    must(head(bytes, 4) === '\x89PNG', 'the URL in its status leads to no PNG');
    await inNamespace('delete', 'conversionjob/photo', '--timeout=60s');
    return undefined;
  });
  await step('kubectl scale', async () => {
    await inNamespace('scale', 'toolchainpool', 'image', '--replicas=3');
    await inNamespace('patch', 'tp', 'image', '--type=merge', '--patch={"spec":{"standby":3}}');
    await eventually(
      'three workers',
      () => inNamespace('get', 'tp', 'image', '-o', 'jsonpath={.status.idle}'),
      (idle) => idle === '3',
    );
    await inNamespace('patch', 'tp', 'image', '--type=merge', '--patch={"spec":{"standby":1}}');
    return 'from one worker to three';
  });
  await step('what a worker may do', async () => {
    const pod = (
      await inNamespace(
        'get',
        'pods',
        '-l',
        'filemill.io/pool=image',
        '--field-selector=status.phase=Running',
        '-o',
        'jsonpath={.items[0].metadata.name}',
      )
    ).trim();
    const inside = (script: string) => inNamespace('exec', pod, '--', 'sh', '-c', script);
    must((await inside('ls /var/run/secrets/kubernetes.io 2>/dev/null || echo none')).trim() === 'none', 'a worker has a token');
    must((await inside('(echo x > /usr/x) 2>/dev/null || echo refused')).trim() === 'refused', 'its root can be written to');
    must((await inside('grep CapEff /proc/1/status')).includes('0000000000000000'), 'it has capabilities');
    must((await inside('grep Seccomp: /proc/1/status')).includes('2'), 'it has no seccomp filter');
    must((await inside('id -u')).trim() === '10001', 'it is another user');
    return 'no token, no capability, a read-only root, seccomp';
  });

  await step("a worker's start, from its process to its first request for an order", async () => {
    const found: number[] = [];
    for (const pod of (await inNamespace('get', 'pods', '-l', 'app.kubernetes.io/component=worker', '-o', 'name')).trim().split('\n')) {
      const log = await inNamespace('logs', pod, '--timestamps');
      const ready = /^(\S+) .*takes orders of the pool/m.exec(log)?.[1];
      const begun = Number(await inNamespace('exec', pod, '--', 'node', '-e', BEGUN));
      if (ready !== undefined) found.push(Date.parse(ready) - begun);
    }
    must(found.length > 0, 'no worker says when it began');
    return `${found.map((ms) => Math.round(ms)).join(', ')} ms`;
  });
  await step('a hundred small pictures, one after the other', async () => {
    const small = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#c33' } })
      .png()
      .toBuffer();
    const taken: number[] = [];
    for (let n = 0; n < 100; n++) {
      const start = performance.now();
      await convert(base, [new Blob([Uint8Array.from(small)]), 'small.png'], 'jpg');
      taken.push(performance.now() - start);
    }
    taken.sort((a, b) => a - b);
    return `p50 ${Math.round(taken[49] ?? 0)} ms, p99 ${Math.round(taken[98] ?? 0)} ms, with the download of each`;
  });
  await step('memory of each role', async () => {
    const held: string[] = [];
    for (const component of ['api', 'controller', 'egress', 'worker']) {
      const pods = (await inNamespace('get', 'pods', '-l', `app.kubernetes.io/component=${component}`, '-o', 'name')).trim().split('\n');
      const status = await inNamespace('exec', pods[0] ?? '', '--', 'cat', '/proc/1/status');
      held.push(`${component} ${Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024)} MiB`);
    }
    return held.join(', ');
  });

  /** Ends what runs in the cluster's namespaces, as a crash would: its container is started again, or its Job fails. */
  const crash = (command: string, variable = '') =>
    cluster(
      'enter',
      'sh',
      '-c',
      `for p in $(pgrep -f "$1"); do [ -z "$2" ] || grep -qz "^$2$" /proc/$p/environ || continue; kill -KILL $p; done`,
      'sh',
      command,
      variable,
    );
  const long = join(folder, 'long.mp4');
  await program('ffmpeg', [
    '-v',
    'error',
    '-f',
    'lavfi',
    '-i',
    'testsrc2=d=40:s=1280x720',
    '-c:v',
    'libx264',
    '-preset',
    'ultrafast',
    long,
  ]);

  await step("a worker's process is killed while it converts", async () => {
    const job = convert(base, await file(long, 'long.mp4'), 'webm');
    const holds = '-o=jsonpath={.status.busy}';
    await eventually(
      'a busy worker',
      () => inNamespace('get', 'tp', 'media', holds),
      (busy) => busy === '1',
      60_000,
    );
    const pods = await inNamespace(
      'get',
      'pods',
      '-l',
      'filemill.io/pool=media',
      '--field-selector=status.phase=Running',
      '-o',
      'jsonpath={.items[*].metadata.name}',
    );
    const start = performance.now();
    for (const pod of pods.split(' ')) await crash('main.js worker', `WORKER_NAME=${pod}`);
    must((await job).bytes.length > 0, 'its video is empty');
    return `its job ended well ${((performance.now() - start) / 1000).toFixed(1)} s after that`;
  });
  await step('the leading controller is deleted', async () => {
    const holder = () => inNamespace('get', 'lease', 'filemill-controller', '-o', 'jsonpath={.spec.holderIdentity}');
    const before = await holder();
    const pods = (
      await inNamespace('get', 'pods', '-l', 'app.kubernetes.io/component=controller', '-o', 'jsonpath={.items[*].metadata.name}')
    ).split(' ');
    const leader = pods.find((name) => before.startsWith(name)) ?? '';
    const start = performance.now();
    await inNamespace('delete', 'pod', leader, '--wait=false');
    await eventually('another leader', holder, (now) => now !== '' && now !== before, 60_000);
    return `another leads after ${((performance.now() - start) / 1000).toFixed(1)} s`;
  });
  for (const server of ['nats-server', 'minio server'])
    await step(`${server.split(' ')[0]} crashes under load`, async () => {
      const restarts = () => inNamespace('get', 'pods', '-o', 'json').then(restartsOf);
      const before = await restarts();
      const stop = load(base, photo);
      await crash(`^${server}`);
      await eventually('its pod', restarts, (now) => now > before, 90_000);
      const { done, failed } = await stop();
      must(failed.length === 0 && done > 0, `${failed.length} of ${done + failed.length} jobs failed: ${failed[0]}`);
      return `${done} jobs, none failed`;
    });
  await step('the workers of a node are drained', async () => {
    const job = convert(base, await file(long, 'long.mp4'), 'webm');
    await eventually(
      'a busy worker',
      () => inNamespace('get', 'tp', 'media', '-o=jsonpath={.status.busy}'),
      (busy) => busy === '1',
      60_000,
    );
    await kubectl(
      'drain',
      'node1',
      '--ignore-daemonsets',
      '--delete-emptydir-data',
      '--pod-selector=app.kubernetes.io/component=worker',
      '--timeout=100s',
    );
    await kubectl('uncordon', 'node1');
    must((await job).bytes.length > 0, 'its video is empty');
    return 'the conversion that ran there ended well';
  });

  await step('helm upgrade to another image under load', async () => {
    for (const name of IMAGES)
      await program('buildah', ['tag', imageOf(name.replace(/^\d=/, '')), imageOf(name.replace(/^\d=/, ''), NEXT)]);
    await cluster('load', ...IMAGES.map((name) => imageOf(name, NEXT)));
    const stop = load(base, photo);
    await helm('upgrade', 'filemill', 'charts/filemill', ...VALUES, '--set', `image.tag=${NEXT}`, '--wait', '--timeout', '4m');
    const { done, failed } = await stop();
    must(failed.length === 0 && done > 0, `${failed.length} of ${done + failed.length} jobs failed: ${failed[0]}`);
    const images = await inNamespace('get', 'pods', '-l', 'filemill.io/pool=image', '-o', 'jsonpath={.items[*].spec.containers[0].image}');
    must(images.includes(`image:${NEXT}`), `workers run ${images}`);
    const capacity = await inNamespace('get', 'tp', 'image', '-o', 'jsonpath={.spec.capacity}');
    must(capacity === '3', `the upgrade changed what kubectl scale wrote to ${capacity}`);
    return `${done} jobs, none failed`;
  });
  await step('helm rollback under load', async () => {
    const stop = load(base, photo);
    await helm('rollback', 'filemill', '1', '--wait', '--timeout', '4m');
    const { done, failed } = await stop();
    must(failed.length === 0 && done > 0, `${failed.length} of ${done + failed.length} jobs failed: ${failed[0]}`);
    return `${done} jobs, none failed`;
  });
  await step('helm uninstall', async () => {
    await helm('uninstall', 'filemill', '--wait', '--timeout', '2m');
    const kinds =
      'all,configmaps,secrets,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets,toolchainpools,persistentvolumeclaims';
    const left = () =>
      inNamespace('get', kinds, '-o', 'name').then((names) =>
        names.split('\n').filter((name) => !/^$|kube-root-ca|serviceaccount\/default$/.test(name)),
      );
    await eventually('an empty namespace', left, (names) => names.length === 0, 120_000);
    must(
      (await kubectl('get', 'crd', '-o', 'name')).split('\n').filter((name) => name.includes('filemill.io')).length === 2,
      'the definitions are gone',
    );
    const wide = await kubectl(
      'get',
      'clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings',
      '-o',
      'name',
    );
    must(!wide.includes('filemill'), `it left ${wide.split('\n').filter((name) => name.includes('filemill'))}`);
    await kubectl('delete', 'namespace', NAMESPACE, '--timeout=60s');
    return 'the definitions stay, nothing else';
  });
}

if (process.getuid?.() !== 0) {
  console.error('e2e: it needs root, for containers on this machine');
  process.exit(1);
}
console.log(`e2e: a cluster in ${clusterDir}, reached at ${node}${keep ? '' : '; it is removed at the end'}`);
const folder = await mkdtemp(join(tmpdir(), 'filemill-e2e-'));
let failed: unknown;
const interrupted = Promise.withResolvers<never>();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => interrupted.reject(new Error(`interrupted by ${signal}`)));
try {
  await Promise.race([story(folder), interrupted.promise]);
} catch (error) {
  failed = error;
  console.log(`\nFAILED: ${(error as Error).message}`);
  for (const what of ['pods,toolchainpools', 'events'])
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
if (!keep) {
  const { status } = spawnSync('scripts/cluster', ['down'], { cwd: checkout, env: environment, stdio: 'inherit', timeout: 300_000 });
  if (status !== 0) failed ??= new Error('the cluster could not be removed: scripts/cluster down');
}
console.log(`${times.length} passed, ${failed === undefined ? 0 : 1} failed`);
process.exit(failed === undefined ? 0 : 1);
