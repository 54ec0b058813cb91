import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectKube, type Kube } from '../../src/kube/connection/connect.ts';
import { isTransient, type KubeError } from '../../src/kube/connection/error.ts';
import { createRecorder } from '../../src/kube/events.ts';
import { EVENTS, JOBS, type KubeObject, type Resource } from '../../src/kube/resource.ts';
import { type FaultyProxy, startFaultyProxy } from '../kit/kube/faulty-proxy.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { until } from '../kit/kube/until.ts';

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}
interface Job extends KubeObject {
  readonly spec: { readonly parallelism?: number; readonly template: object };
  readonly status?: { readonly active?: number };
}
interface Event extends KubeObject {
  readonly reason: string;
  readonly note: string;
  readonly regarding: { readonly name: string };
  readonly series?: { readonly count: number };
}

const MAPS: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
const namespace = 'default';
const map = (name: string, data: Readonly<Record<string, string>> = {}): ConfigMap => ({ metadata: { name, namespace }, data });

let cluster: Cluster;
let kube: Kube;
let proxy: FaultyProxy;
let through: Kube;

beforeAll(async () => {
  cluster = await startKubernetes({ without: ['controllers', 'scheduler', 'kwok'] });
  kube = cluster.kube;
  proxy = await startFaultyProxy(cluster.kubeconfig, 'proxy');
  through = await connectKube({ kubeconfig: proxy.kubeconfig });
});

afterAll(async () => {
  through?.close();
  await proxy?.close();
  await cluster?.stop();
});

describe('a call that is refused', () => {
  it('because there is one says AlreadyExists', async () => {
    await kube.create(MAPS, map('twice'));
    await expect(kube.create(MAPS, map('twice'))).rejects.toMatchObject({ status: 409, reason: 'AlreadyExists' });
  });

  it('because there is none says NotFound', async () => {
    await expect(kube.get(MAPS, { name: 'nowhere', namespace })).rejects.toMatchObject({ status: 404, reason: 'NotFound' });
    await expect(kube.remove(MAPS, { name: 'nowhere', namespace })).rejects.toMatchObject({ status: 404, reason: 'NotFound' });
  });

  it('because another client wrote in between says Conflict', async () => {
    const first = await kube.create(MAPS, map('raced'));
    await kube.replace(MAPS, { ...first, data: { who: 'one' } });
    await expect(kube.replace(MAPS, { ...first, data: { who: 'other' } })).rejects.toMatchObject({ status: 409, reason: 'Conflict' });
  });

  it('because it is another object by now says Conflict, and that one stays', async () => {
    const first = await kube.create(MAPS, map('reborn'));
    await kube.remove(MAPS, first.metadata, { uid: first.metadata.uid });
    await kube.create(MAPS, map('reborn'));
    await expect(kube.remove(MAPS, first.metadata, { uid: first.metadata.uid })).rejects.toMatchObject({ reason: 'Conflict' });
    await kube.get(MAPS, first.metadata);
  });

  it('because it makes no sense names the fields', async () => {
    const job = {
      metadata: { name: 'wrong', namespace },
      spec: { parallelism: -1, template: { spec: { restartPolicy: 'Never', containers: [] } } },
    };
    const error = await kube.create<Job>(JOBS, job).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ status: 422, reason: 'Invalid' });
    expect((error as KubeError).causes.map(({ field }) => field)).toEqual(
      expect.arrayContaining(['spec.parallelism', 'spec.template.spec.containers']),
    );
    expect(isTransient(error)).toBe(false);
  });

  it('because no role allows it says Forbidden', async () => {
    const nobody = await connectKube({ kubeconfig: await cluster.kubeconfigFor({ name: 'nobody', namespace }) });
    await expect(nobody.get(MAPS, { name: 'any', namespace })).rejects.toMatchObject({ status: 403, reason: 'Forbidden' });
    nobody.close();
  });
});

describe('a call', () => {
  it('of a pod is made as its service account, with the token that lies there now', async () => {
    const { environment, folder } = await cluster.podOf({ name: 'pod', namespace });
    Object.assign(process.env, environment);
    const own = await connectKube({ serviceAccount: folder });
    for (const name of Object.keys(environment)) delete process.env[name];
    expect(own.namespace).toBe(namespace);
    const token = await readFile(`${folder}/token`, 'utf8');
    await writeFile(`${folder}/token`, 'stale\n');
    await expect(own.get(MAPS, { name: 'any', namespace })).rejects.toMatchObject({ status: 401, reason: 'Unauthorized' });
    await writeFile(`${folder}/token`, `${token}\n`);
    await expect(own.get(MAPS, { name: 'any', namespace })).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining('system:serviceaccount:default:pod'),
    });
    own.close();
  });

  it('applies what it owns, takes away what it no longer wants, and leaves alone what others wrote', async () => {
    await kube.patch(MAPS, (await kube.create(MAPS, map('applied'))).metadata, { data: { theirs: '1' } });
    await kube.apply(MAPS, map('applied', { first: '1', second: '1' }), { manager: 'ours' });
    const { data } = await kube.apply(MAPS, map('applied', { first: '2' }), { manager: 'ours' });
    expect(data).toEqual({ theirs: '1', first: '2' });
  });

  it('takes a field from another manager unless told not to', async () => {
    await kube.apply(MAPS, map('contested', { field: 'one' }), { manager: 'one' });
    const gentle = kube.apply(MAPS, map('contested', { field: 'other' }), { manager: 'other', force: false });
    await expect(gentle).rejects.toMatchObject({ status: 409, reason: 'Conflict' });
    await expect(kube.apply(MAPS, map('contested', { field: 'other' }), { manager: 'other' })).resolves.toMatchObject({
      data: { field: 'other' },
    });
  });

  it('writes a status and nothing else', async () => {
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
    const job = await kube.create<Job>(JOBS, { metadata: { name: 'with-status', namespace }, spec: { template } });
    const patched = await kube.patch<Job>(
      JOBS,
      job.metadata,
      { status: { active: 1 }, spec: { parallelism: 5 } },
      { subresource: 'status' },
    );
    expect(patched.status?.active).toBe(1);
    expect(patched.spec.parallelism).toBe(1);
  });

  it('lists by label, page by page, in one namespace or in all', async () => {
    await kube.request('POST', '/api/v1/namespaces', { metadata: { name: 'other' } });
    for (const where of ['default', 'default', 'default', 'other'])
      await kube.create(MAPS, { metadata: { name: crypto.randomUUID(), namespace: where, labels: { listed: 'yes' } } });
    const sizes = async (selection: { namespace?: string }) => {
      const pages: number[] = [];
      for await (const { items } of kube.pages(MAPS, { ...selection, labelSelector: 'listed=yes', limit: 2 })) pages.push(items.length);
      return pages;
    };
    expect(await sizes({ namespace })).toEqual([2, 1]);
    expect(await sizes({})).toEqual([2, 2]);
  });

  it('uses the same connection again, and another where that was closed in between', async () => {
    const ask = () => through.request('GET', '/version');
    await ask();
    const before = proxy.made;
    await ask();
    await ask();
    expect(proxy.made).toBe(before);
    proxy.cut();
    await expect(ask()).resolves.toMatchObject({ major: '1' });
    expect(proxy.made).toBe(before + 1);
  });

  it('that cannot connect says so, and the next one that can succeeds', async () => {
    proxy.shut();
    const error = await through.request('GET', '/version').catch((caught: unknown) => caught);
    proxy.open();
    expect(error).toMatchObject({ status: 0, reason: 'Unreachable' });
    expect(isTransient(error)).toBe(true);
    await through.request('GET', '/version');
  });

  it('that gets no answer ends at its limit', async () => {
    proxy.swallow();
    const error = await through.request('GET', '/version', undefined, { limitMs: 300 }).catch((caught: unknown) => caught);
    proxy.open();
    expect(error).toMatchObject({ status: 0, reason: 'TimedOut', message: expect.stringContaining('GET /version within 300 ms') });
  });

  it('ends at its limit while the store is frozen, and is carried out when it is back', async () => {
    try {
      await cluster.freezeEtcd();
      const error = await kube.create(MAPS, map('frozen'), { limitMs: 500 }).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ reason: 'TimedOut' });
    } finally {
      cluster.thawEtcd();
    }
    await until('the store', () => kube.apply(MAPS, map('thawed'), { manager: 'test' }).then(Boolean, () => false));
  });

  it('ends with its caller, for its reason', async () => {
    const reason = new Error('enough');
    const caller = new AbortController();
    proxy.swallow();
    const asked = through.request('GET', '/version', undefined, { signal: caller.signal });
    caller.abort(reason);
    await expect(asked).rejects.toBe(reason);
    proxy.open();
    await expect(kube.request('GET', '/version', undefined, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe('a connection', () => {
  it('in no cluster asks for a kubeconfig', () => expect(connectKube()).rejects.toThrow('name a kubeconfig file'));
});

describe('an event', () => {
  const regarding = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name, namespace, uid: crypto.randomUUID() });
  const full = (object: ReturnType<typeof regarding>) =>
    ({
      regarding: object,
      type: 'Warning',
      reason: 'QuotaExceeded',
      action: 'CreateJob',
      note: 'The quota of the namespace is used up.',
    }) as const;

  async function eventsOf(name: string): Promise<Event[]> {
    const found: Event[] = [];
    for await (const { items } of kube.pages<Event>(EVENTS, { namespace }))
      found.push(...items.filter(({ regarding }) => regarding.name === name));
    return found;
  }

  it('that happens again and again is one event with a count', async () => {
    let now = Date.now();
    const recorder = createRecorder({ kube, controller: 'filemill.io/controller', instance: 'test', now: () => new Date(now) });
    const object = regarding('repeated');
    for (let minute = 0; minute < 4; minute++, now += 61_000) recorder.record(full(object));
    await recorder.close();
    expect(await eventsOf('repeated')).toMatchObject([{ reason: 'QuotaExceeded', note: full(object).note, series: { count: 4 } }]);
    const { stdout } = await cluster.kubectl(['get', 'events', '--field-selector', 'involvedObject.name=repeated']);
    expect(stdout).toContain('QuotaExceeded');
  });

  it('is one of ten at most for an object that has no rest', async () => {
    const troubles: unknown[] = [];
    const recorder = createRecorder({
      kube,
      controller: 'filemill.io/controller',
      instance: 'test',
      onTrouble: (error) => void troubles.push(error),
    });
    const [restless, calm] = [regarding('restless'), regarding('calm')];
    for (let index = 0; index < 30; index++) recorder.record({ ...full(restless), note: `Worker ${index} is gone. ${'é'.repeat(1_000)}` });
    recorder.record(full(calm));
    await recorder.close();
    expect(troubles).toEqual([]);
    expect(await eventsOf('restless')).toHaveLength(10);
    expect(await eventsOf('calm')).toHaveLength(1);
  });

  it('that cannot be sent is dropped, and its sender hears nothing of it', async () => {
    const troubles: unknown[] = [];
    const recorder = createRecorder({
      kube: through,
      controller: 'filemill.io/controller',
      instance: 'test',
      onTrouble: (error) => void troubles.push(error),
    });
    proxy.shut();
    recorder.record(full(regarding('unsent')));
    await until('the failure', () => troubles.length === 1);
    proxy.open();
    await recorder.close();
    expect(troubles).toMatchObject([{ reason: 'Unreachable' }]);
  });
});
