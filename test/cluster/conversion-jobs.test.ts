/** ConversionJobs from kubectl to the file, on a real API server, with the API and a worker as processes over real NATS and S3 servers. */
import { Readable } from 'node:stream';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ConversionJobStatus } from '../../src/contracts/kubernetes/conversion-job.ts';
import { type ConversionJobs, startConversionJobs } from '../../src/controller/conversion-jobs/controller.ts';
import { askOver } from '../../src/controller/conversion-jobs/nats.ts';
import { reconcileConversionJob } from '../../src/controller/conversion-jobs/reconcile.ts';
import { CONVERSION_JOBS, type ConversionJobObject, FINALIZER } from '../../src/controller/conversion-jobs/resource.ts';
import { secretsBy } from '../../src/controller/conversion-jobs/secrets.ts';
import { newJobTurns } from '../../src/controller/conversion-jobs/turns.ts';
import { connectKube, type Kube } from '../../src/kube/connection/connect.ts';
import { isConflict, unlessNotFound } from '../../src/kube/connection/error.ts';
import { createRecorder, type Recorder } from '../../src/kube/events.ts';
import { openS3, type S3Store } from '../../src/objects/s3/store.ts';
import { createControllerMetrics } from '../../src/telemetry/controller.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { eventually } from '../kit/api/wire.ts';
import { type Cluster as Kubernetes, startKubernetes } from '../kit/kube/kubernetes.ts';
import { type Cluster, type Role, startCluster } from '../kit/roles/cluster.ts';
import { endProcess } from '../kit/roles/service.ts';

/** Submissions that one namespace has. */
const DAILY = 5;
const ACCOUNT = { name: 'filemill-controller', namespace: 'filemill' };
const ENDED = 60;
const SETTINGS = { limits: { enabled: true, daily: DAILY } };

let kubernetes: Kubernetes;
let cluster: Cluster;
let api: Role;
let worker: Role;
let bucket: S3Store;
/** With the rights that the controller is given. */
let own: Kube;
let controller: ConversionJobs | undefined;
let picture: Buffer;
let recorder: Recorder;
/** How far the controller's clock is ahead, ms. */
let ahead = 0;
/** Whose resources the controllers have asked an API about. */
const asked: (string | undefined)[] = [];

beforeAll(async () => {
  picture = await sharp({ create: { width: 64, height: 48, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  [kubernetes, cluster] = await Promise.all([startKubernetes({ without: ['controllers', 'scheduler', 'kwok'] }), startCluster()]);
  await kubectl('apply', '--server-side', '--filename=manifests/crds');
  await kubectl('wait', '--for=condition=Established', '--timeout=30s', 'crd/conversionjobs.filemill.io');
  await kubectl('create', 'namespace', ACCOUNT.namespace);
  await kubectl('apply', '--server-side', '--filename=manifests/rbac/all-namespaces.yaml');
  own = await connectKube({ kubeconfig: await kubernetes.kubeconfigFor(ACCOUNT) });
  await eventually(async () => (await kubernetes.kubectl(['get', 'conversionjobs'])).code === 0, 'the resources to be served');
  api = await cluster.start('api', {}, SETTINGS);
  worker = await cluster.start('worker', { POOL: 'image' });
  bucket = await openS3(cluster.bucket);
  await eventually(knowsPictures, 'the replica knows of the worker', 30_000);
  recorder = createRecorder({ kube: own, controller: 'filemill.io/controller', instance: 'test' });
  controller = await lead();
}, 180_000);
afterEach(() => {
  ahead = 0;
});
afterAll(async () => {
  await controller?.close();
  await recorder?.close();
  own?.close();
  await Promise.all([cluster?.stop(), kubernetes?.stop()]);
});

async function lead(): Promise<ConversionJobs> {
  const started = await start(() => true);
  await started.lead();
  return started;
}

async function start(mayAct: () => boolean): Promise<ConversionJobs> {
  const ask = askOver(await cluster.nats.connect());
  return startConversionJobs({
    kube: own,
    namespace: undefined,
    ask: (kind, job, more) => {
      asked.push(job.metadata.namespace);
      return ask(kind, job, more);
    },
    recorder,
    mayAct,
    metrics: createControllerMetrics(),
    log: createLog(process.env['TEST_LOG'] ?? 'silent'),
    clock: () => Date.now() + ahead,
  });
}

async function knowsPictures(): Promise<boolean> {
  const { data } = (await (await fetch(`${api.url}/api/v1/formats`)).json()) as { data: { sources: { format: string }[] } };
  return data.sources.some(({ format }) => format === 'png');
}

/** @returns what it printed @throws with its complaint */
async function kubectl(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await kubernetes.kubectl(args);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

let namespaces = 0;
/** With what a test imports into it, a picture unless said otherwise. */
async function newNamespace(imported: Readonly<Record<string, Buffer>> = { 'view.png': picture }): Promise<string> {
  const namespace = `team-${++namespaces}`;
  await kubectl('create', 'namespace', namespace);
  for (const [name, bytes] of Object.entries(imported)) await bucket.put(`imports/${namespace}/${name}`, Readable.from([bytes]), 1 << 20);
  return namespace;
}

/** By kubectl, as a user does it. */
async function apply(namespace: string, name: string, spec: Record<string, unknown> = {}): Promise<void> {
  const object = {
    apiVersion: 'filemill.io/v1alpha1',
    kind: 'ConversionJob',
    metadata: { name, namespace },
    spec: { source: { key: 'view.png' }, ...('tool' in spec ? {} : { toFormat: 'webp' }), ...spec },
  };
  const { code, stderr } = await kubernetes.kubectl(['apply', '--filename=-'], JSON.stringify(object));
  if (code !== 0) throw new Error(stderr);
}
const waitFor = (namespace: string, name: string, condition: string): Promise<string> =>
  kubectl('wait', `--namespace=${namespace}`, `--for=condition=${condition}`, '--timeout=30s', `conversionjob/${name}`);
const read = (namespace: string, name: string): Promise<ConversionJobObject | undefined> =>
  kubernetes.kube.get<ConversionJobObject>(CONVERSION_JOBS, { namespace, name }).catch(unlessNotFound);
async function statusOf(namespace: string, name: string): Promise<ConversionJobStatus> {
  return (await read(namespace, name))?.status ?? {};
}
const reasonOf = ({ conditions = [] }: ConversionJobStatus, wanted: string): string | undefined =>
  conditions.find(({ type, status }) => type === wanted && status === 'True')?.reason;
const restStatus = async (id: string | undefined): Promise<number> => (await fetch(`${api.url}/api/v1/jobs/${id}`)).status;

describe('a ConversionJob', () => {
  it('is applied, waited for, and fetched', async () => {
    const namespace = await newNamespace();
    await apply(namespace, 'thumbnail', { options: { img_resize_w: '32' } });
    await waitFor(namespace, 'thumbnail', 'Complete');
    const status = await statusOf(namespace, 'thumbnail');
    expect(status).toMatchObject({ phase: 'Complete', output: { filename: 'view-filemill.webp', contentType: 'image/webp' } });
    const { format, width } = await sharp(Buffer.from(await (await fetch(status.output?.url ?? '')).arrayBuffer())).metadata();
    expect([format, width]).toEqual(['webp', 32]);
    const table = await kubectl('get', 'conversionjobs', `--namespace=${namespace}`);
    expect(table).toContain('Complete');
  });

  it('tells in Events how it went', async () => {
    const namespace = await newNamespace({ 'view.png': picture, 'broken.png': picture.subarray(0, 60) });
    await apply(namespace, 'sound');
    await apply(namespace, 'broken', { source: { key: 'broken.png' } });
    await Promise.all([waitFor(namespace, 'sound', 'Complete'), waitFor(namespace, 'broken', 'Failed')]);
    const eventsOf = async (name: string) => {
      const about = `--field-selector=involvedObject.kind=ConversionJob,involvedObject.name=${name}`;
      const told = '--output=jsonpath={range .items[*]}{.type} {.reason}{"\\n"}{end}';
      return (await kubectl('get', 'events', `--namespace=${namespace}`, about, told)).trim().split('\n');
    };
    await eventually(async () => (await eventsOf('sound')).includes('Normal Done'), 'its end is told');
    await eventually(async () => (await eventsOf('broken')).includes('Warning CONVERSION_FAILED'), 'its failure is told');
    expect(await kubectl('describe', 'conversionjob/broken', `--namespace=${namespace}`)).toMatch(/Events:.*CONVERSION_FAILED/s);
  });

  it('calls a tool', async () => {
    const namespace = await newNamespace();
    await apply(namespace, 'turned', { tool: 'rotate-image', options: { img_rotate: '90' } });
    await waitFor(namespace, 'turned', 'Complete');
    const { output } = await statusOf(namespace, 'turned');
    const { format, width, height } = await sharp(Buffer.from(await (await fetch(output?.url ?? '')).arrayBuffer())).metadata();
    expect([format, width, height]).toEqual(['png', 48, 64]);
  });

  it.each([
    ['of a damaged file', 'CONVERSION_FAILED', {}, { reason: 'corrupt_input' }],
    ['of a format that there is not', 'INVALID_FORMAT', { toFormat: 'zzz' }, {}],
    ['of an option out of bounds', 'INVALID_OPTION', { options: { img_quality: '101' } }, {}],
    ["of another namespace's object", 'NOT_FOUND', { source: { key: 'imports/elsewhere/view.png' } }, {}],
    ['of a tool that there is not', 'NOT_FOUND', { tool: 'fold-paper' }, {}],
  ])('%s fails with %s as its reason', async (_, code, spec, error) => {
    const namespace = await newNamespace({ 'view.png': picture.subarray(0, 60) });
    await apply(namespace, 'bad', spec);
    await waitFor(namespace, 'bad', 'Failed');
    const status = await statusOf(namespace, 'bad');
    expect(status).toMatchObject({ phase: 'Failed', error: { code, ...error } });
    expect([reasonOf(status, 'Failed'), reasonOf(status, 'Complete')]).toEqual([code, undefined]);
  });

  it('that is deleted when it is done takes its output along', async () => {
    const namespace = await newNamespace();
    await apply(namespace, 'done');
    await waitFor(namespace, 'done', 'Complete');
    const { jobId } = await statusOf(namespace, 'done');
    expect(await restStatus(jobId)).toBe(200);
    await kubectl('delete', `--namespace=${namespace}`, '--timeout=20s', 'conversionjob/done');
    expect(await read(namespace, 'done')).toBeUndefined();
    await eventually(async () => (await restStatus(jobId)) === 410, 'its output to be gone');
  });

  describe('that waits for a worker', () => {
    beforeAll(() => void worker.child.kill('SIGSTOP'));
    afterAll(() => void worker.child.kill('SIGCONT'));
    const waiting = async () => {
      const namespace = await newNamespace();
      await apply(namespace, 'waiting');
      const { jobId } = await eventually(async () => {
        const status = await statusOf(namespace, 'waiting');
        return status.phase === 'Running' && status;
      }, 'the job to be there');
      return { namespace, jobId };
    };

    it('is cancelled when it is deleted', async () => {
      const { namespace, jobId } = await waiting();
      // Nothing that could keep it, or its namespace, without a controller.
      expect((await read(namespace, 'waiting'))?.metadata.finalizers).toBeUndefined();
      await kubectl('delete', `--namespace=${namespace}`, '--timeout=20s', 'conversionjob/waiting');
      await eventually(async () => (await restStatus(jobId)) === 410, 'its job to be cancelled');
    });

    it('is cancelled by the replica that leads next, where it is deleted while none leads', async () => {
      const { namespace, jobId } = await waiting();
      await controller?.close();
      let leads = false;
      const next = await start(() => leads);
      await eventually(() => next.synced(), 'it knows of the resource');
      await kubectl('delete', `--namespace=${namespace}`, '--timeout=20s', 'conversionjob/waiting');
      await apply(namespace, 'seen');
      expect(await restStatus(jobId)).toBe(200);
      leads = true;
      await next.lead();
      controller = next;
      await eventually(async () => (await restStatus(jobId)) === 410, 'its job to be cancelled');
    });

    it('loses the finalizer that an earlier version gave it', async () => {
      const { namespace } = await waiting();
      const metadata = { namespace, name: 'waiting' };
      await kubernetes.kube.patch(CONVERSION_JOBS, metadata, { metadata: { finalizers: [FINALIZER, 'example.com/other'] } });
      await eventually(
        async () => (await read(namespace, 'waiting'))?.metadata.finalizers?.join() === 'example.com/other',
        'the finalizer to be gone, and that of others to stay',
      );
      await kubernetes.kube.patch(CONVERSION_JOBS, metadata, { metadata: { finalizers: null } });
    });

    it('is Cancelled when a client deletes its job over REST', async () => {
      const { namespace, jobId } = await waiting();
      await fetch(`${api.url}/api/v1/jobs/${jobId}`, { method: 'DELETE' });
      await waitFor(namespace, 'waiting', 'Failed');
      const status = await statusOf(namespace, 'waiting');
      expect([status.phase, reasonOf(status, 'Failed')]).toEqual(['Cancelled', 'JOB_EXPIRED']);
    });
  });

  it('is removed when its time is over, and its job stays for clients that have the id', async () => {
    const namespace = await newNamespace();
    await apply(namespace, 'brief', { ttlSecondsAfterFinished: 1 });
    const { jobId } = await eventually(async () => {
      const status = await statusOf(namespace, 'brief');
      return status.jobId !== undefined && status;
    }, 'the job to be there');
    await eventually(async () => (await read(namespace, 'brief')) === undefined, 'the resource to go');
    expect(await restStatus(jobId)).toBe(200);
  });

  it('says when its output has expired', async () => {
    const namespace = await newNamespace();
    await apply(namespace, 'old', { ttlSecondsAfterFinished: 86_400 });
    await waitFor(namespace, 'old', 'Complete');
    ahead = 3 * 3_600_000;
    await wake(namespace, 'old');
    await waitFor(namespace, 'old', 'Expired');
    const status = await statusOf(namespace, 'old');
    expect([status.phase, status.output, reasonOf(status, 'Expired')]).toEqual(['Expired', undefined, 'JOB_EXPIRED']);
  });

  it('waits while its namespace has used up a limit, and no namespace is banned', async () => {
    const namespace = await newNamespace();
    const names = Array.from({ length: DAILY + 3 }, (_, n) => `n${n}`);
    await Promise.all(names.map((name) => apply(namespace, name)));
    const seen = () => Promise.all(names.map((name) => statusOf(namespace, name)));
    const isOver = ({ phase, conditions = [] }: ConversionJobStatus) =>
      phase === 'Pending' && conditions[0]?.reason === 'RATE_LIMITED' && conditions[0].message.includes('allowed in 24 hours');
    await eventually(
      async () => {
        const statuses = await seen();
        return statuses.filter(({ phase }) => phase === 'Complete').length === DAILY && statuses.filter(isOver).length === 3;
      },
      'as many to be done as are allowed, and the others to be told',
      120_000,
    );
    const others = await newNamespace();
    await apply(others, 'free');
    await waitFor(others, 'free', 'Complete');
  }, 200_000);

  it('is seen to end as soon, however many have ended: those are not asked about', async () => {
    const [crowded, quiet] = [await newNamespace(), await newNamespace()];
    await controller?.close();
    const { kube } = kubernetes;
    const numbers = Array.from({ length: ENDED }, (_, n) => n).values();
    const status = { phase: 'Complete', completionTime: new Date().toISOString().replace(/\.\d+/, '') };
    const makeEnded = async () => {
      for (const n of numbers) {
        const metadata = { name: `ended-${n}`, namespace: crowded };
        await kube.create(CONVERSION_JOBS, { metadata, spec: { source: { key: 'view.png' }, toFormat: 'webp' } } as ConversionJobObject);
        await kube.patch(CONVERSION_JOBS, metadata, { status }, { subresource: 'status' });
      }
    };
    await Promise.all(Array.from({ length: 16 }, makeEnded));
    controller = await lead();
    await apply(quiet, 'swift');
    await waitFor(quiet, 'swift', 'Complete');
    expect(asked).toContain(quiet);
    expect(asked).not.toContain(crowded);
  }, 60_000);

  it('keeps what was written since it was last seen', async () => {
    const namespace = await newNamespace();
    await controller?.close();
    await apply(namespace, 'seen');
    const before = await read(namespace, 'seen');
    controller = await lead();
    await waitFor(namespace, 'seen', 'Complete');
    const turns = newJobTurns(Date.now, () => {});
    turns.hold(namespace, 60_000, { code: 'RATE_LIMITED', message: 'Too many.' });
    const ask = askOver(await cluster.nats.connect());
    const parts = { kube: own, recorder, ask, secrets: secretsBy(own, undefined), turns, clock: Date.now, unfinished: () => 1 };
    await expect(reconcileConversionJob(parts, before as ConversionJobObject, new AbortController().signal)).rejects.toSatisfy(isConflict);
    expect((await statusOf(namespace, 'seen')).phase).toBe('Complete');
  });

  it('is one job however often the controller starts again', async () => {
    const namespace = await newNamespace();
    await controller?.close();
    await apply(namespace, 'patient');
    controller = await lead();
    await waitFor(namespace, 'patient', 'Complete');
    const { jobId } = await statusOf(namespace, 'patient');
    // As if it had died before it could say so.
    await controller.close();
    await kubernetes.kube.patch(CONVERSION_JOBS, { namespace, name: 'patient' }, { status: null }, { subresource: 'status' });
    controller = await lead();
    await waitFor(namespace, 'patient', 'Complete');
    expect((await statusOf(namespace, 'patient')).jobId).toBe(jobId);
  });

  it('that is deleted while no API answers goes at once, and its output when an API is back', async () => {
    const namespace = await newNamespace();
    await apply(namespace, 'left');
    await waitFor(namespace, 'left', 'Complete');
    const { jobId } = await statusOf(namespace, 'left');
    await endProcess({ ...api, url: api.url ?? '' });
    await kubectl('delete', `--namespace=${namespace}`, '--timeout=5s', 'conversionjob/left');
    await apply(namespace, 'later');
    const told = await eventually(async () => {
      const status = await statusOf(namespace, 'later');
      return status.phase === 'Pending' && status;
    }, 'the next one to be told');
    const said = told.conditions?.filter(({ type }) => type === 'Complete').map(({ status, reason }) => [status, reason]);
    expect(said).toEqual([['False', 'OVERLOADED']]);
    api = await cluster.start('api', {}, SETTINGS);
    await waitFor(namespace, 'later', 'Complete');
    await eventually(async () => (await restStatus(jobId)) === 410, 'the output to be gone');
  });
});

/** Has it looked at, as its timer would. */
async function wake(namespace: string, name: string): Promise<void> {
  await kubernetes.kube.patch(CONVERSION_JOBS, { namespace, name }, { metadata: { finalizers: ['example.com/other'] } });
  await kubernetes.kube.patch(CONVERSION_JOBS, { namespace, name }, { metadata: { finalizers: null } });
}
