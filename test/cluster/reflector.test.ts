import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectKube, type Kube } from '../../src/kube/connection/connect.ts';
import { type Reflector, type ReflectorOptions, startReflector } from '../../src/kube/reflector.ts';
import type { KubeObject, Resource } from '../../src/kube/resource.ts';
import { type FaultyProxy, startFaultyProxy } from '../kit/kube/faulty-proxy.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { until } from '../kit/kube/until.ts';

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const MAPS: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
const MANY = 1_200;
const NAMESPACE = 'default';

let cluster: Cluster;
let kube: Kube;
let proxy: FaultyProxy;
let through: Kube;
const open: Reflector<ConfigMap>[] = [];

const map = (name: string, group: string, value = ''): ConfigMap => ({
  metadata: { name, namespace: NAMESPACE, labels: { group } },
  data: { value },
});
const key = (name: string) => `${NAMESPACE}/${name}`;

function reflect(group: string, options: Partial<ReflectorOptions<ConfigMap>> = {}) {
  const changes: string[] = [];
  const troubles: unknown[] = [];
  const onTrouble = (error: unknown) => void troubles.push(error);
  const reflector = startReflector({ kube, resource: MAPS, namespace: NAMESPACE, labelSelector: `group=${group}`, onTrouble, ...options });
  reflector.onChange((changed, now, before) => {
    changes.push(`${changed.split('/')[1]} ${before?.data?.['value'] ?? '-'} → ${now?.data?.['value'] ?? '-'}`);
  });
  open.push(reflector);
  return { reflector, changes, troubles };
}

const namesOf = ({ reflector }: { reflector: Reflector<ConfigMap> }) => [...reflector.objects().keys()].sort();

beforeAll(async () => {
  cluster = await startKubernetes({ without: ['controllers', 'scheduler', 'kwok'] });
  kube = cluster.kube;
  proxy = await startFaultyProxy(cluster.kubeconfig, 'proxy');
  through = await connectKube({ kubeconfig: proxy.kubeconfig });
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((reflector) => reflector.close()));
});

afterAll(async () => {
  through?.close();
  await proxy?.close();
  await cluster?.stop();
});

describe('a reflector', () => {
  it(`lists ${MANY} objects in pages of one moment`, async () => {
    for (let from = 0; from < MANY; from += 40)
      await Promise.all(Array.from({ length: 40 }, (_, index) => kube.create(MAPS, map(`many-${from + index}`, 'many'))));
    const { reflector } = reflect('many');
    await reflector.whenSynced();
    expect(reflector.objects().size).toBe(MANY);
    const lists = (await cluster.auditLog()).filter(({ verb, requestURI }) => verb === 'list' && requestURI.includes('group%3Dmany'));
    expect(lists.map(({ requestURI }) => /[?&]limit=500/.test(requestURI))).toEqual([true, true, true]);
    expect(lists.filter(({ requestURI }) => requestURI.includes('continue='))).toHaveLength(2);
  });

  it('follows what is made, changed and removed, and says what was before', async () => {
    const { reflector, changes } = reflect('follow');
    await reflector.whenSynced();
    await kube.create(MAPS, map('a', 'follow', '1'));
    await kube.patch(MAPS, { name: 'a', namespace: NAMESPACE }, { data: { value: '2' } });
    await kube.remove(MAPS, { name: 'a', namespace: NAMESPACE });
    await until('three changes', () => changes.length === 3);
    expect(changes).toEqual(['a - → 1', 'a 1 → 2', 'a 2 → -']);
    expect(reflector.objects().size).toBe(0);
  });

  it('takes an object that leaves the selection for one that is gone', async () => {
    await kube.create(MAPS, map('leaver', 'leaving', '1'));
    const { reflector, changes } = reflect('leaving');
    await reflector.whenSynced();
    await kube.patch(MAPS, { name: 'leaver', namespace: NAMESPACE }, { metadata: { labels: { group: 'elsewhere' } } });
    await until('it to leave', () => reflector.objects().size === 0);
    expect(changes.at(-1)).toBe('leaver 1 → -');
  });

  it('keeps no managed fields, and of the rest what it is told to', async () => {
    await kube.apply(MAPS, map('trimmed', 'trim', 'x'), { manager: 'test' });
    const whole = reflect('trim');
    const part = reflect('trim', {
      trim: ({ metadata: { name, namespace, resourceVersion } }) => ({ metadata: { name, namespace, resourceVersion } as never }),
    });
    await Promise.all([whole.reflector.whenSynced(), part.reflector.whenSynced()]);
    expect(whole.reflector.objects().get(key('trimmed'))).toMatchObject({ data: { value: 'x' } });
    expect(whole.reflector.objects().get(key('trimmed'))?.metadata).not.toHaveProperty('managedFields');
    expect(Object.keys(part.reflector.objects().get(key('trimmed')) ?? {})).toEqual(['metadata']);
  });

  it('goes on where a cut watch ended, and lists nothing again', async () => {
    const mirror = reflect('cut', { kube: through });
    await mirror.reflector.whenSynced();
    await kube.create(MAPS, map('before', 'cut'));
    await until('the first', () => namesOf(mirror).length === 1);
    proxy.shut();
    await kube.create(MAPS, map('meanwhile', 'cut'));
    proxy.open();
    await until('the second', () => namesOf(mirror).length === 2);
    expect(mirror.reflector.stats()).toMatchObject({ relists: 0 });
    expect(mirror.reflector.stats().restarts).toBeGreaterThan(0);
    expect(mirror.troubles.length).toBeGreaterThan(0);
  });

  it('begins a watch again that has fallen silent', async () => {
    const mirror = reflect('silent', { kube: through, silenceMs: 1_000 });
    await mirror.reflector.whenSynced();
    await kube.create(MAPS, map('heard', 'silent'));
    await until('the first', () => namesOf(mirror).length === 1);
    proxy.swallow();
    await kube.create(MAPS, map('unheard', 'silent'));
    await until('the silence to be noticed', () => mirror.troubles.some((error) => (error as { reason?: string }).reason === 'TimedOut'));
    proxy.open();
    await until('the second', () => namesOf(mirror).length === 2);
    expect(mirror.reflector.stats().relists).toBe(0);
  });

  it('lists again from time to time, and calls nothing a change that is none', async () => {
    await kube.create(MAPS, map('steady', 'again', '1'));
    const mirror = reflect('again', { relistMs: 1_000 });
    await mirror.reflector.whenSynced();
    await until('two more lists', () => mirror.reflector.stats().relists >= 2);
    expect(mirror.changes).toEqual(['steady - → 1']);
    expect(mirror.troubles).toEqual([]);
  });

  it('is refused without the right to list, and syncs once it has it', async () => {
    await kube.create(MAPS, map('secret', 'forbidden'));
    const own = await connectKube({ kubeconfig: await cluster.kubeconfigFor({ name: 'reader', namespace: NAMESPACE }) });
    const mirror = reflect('forbidden', { kube: own });
    await until('the refusal', () => mirror.troubles.length > 0);
    expect(mirror.troubles[0]).toMatchObject({ status: 403, reason: 'Forbidden' });
    expect(mirror.reflector.synced).toBe(false);
    await cluster.kubectl(['create', 'role', 'reads-maps', '--verb=list,watch', '--resource=configmaps']);
    await cluster.kubectl(['create', 'rolebinding', 'reads-maps', '--role=reads-maps', '--serviceaccount=default:reader']);
    await mirror.reflector.whenSynced();
    expect(namesOf(mirror)).toEqual([key('secret')]);
    own.close();
  });

  it('outlives a listener that throws', async () => {
    const { reflector, troubles, changes } = reflect('thrown');
    reflector.onChange(() => {
      throw new Error('no');
    });
    await reflector.whenSynced();
    await kube.create(MAPS, map('one', 'thrown'));
    await kube.create(MAPS, map('two', 'thrown'));
    await until('both', () => changes.length === 2);
    expect(troubles).toEqual([new Error('no'), new Error('no')]);
  });

  it('lists again where etcd has compacted the versions since, and finds what was removed meanwhile', async () => {
    await kube.create(MAPS, map('stays', 'compacted', '1'));
    await kube.create(MAPS, map('goes', 'compacted', '1'));
    const mirror = reflect('compacted', { kube: through });
    await mirror.reflector.whenSynced();
    proxy.shut();
    await kube.remove(MAPS, { name: 'goes', namespace: NAMESPACE });
    await kube.create(MAPS, map('comes', 'compacted', '1'));
    await cluster.compactEtcd();
    await cluster.restartApi();
    proxy.open();
    await until('both', () => namesOf(mirror).join() === [key('comes'), key('stays')].join());
    expect(mirror.changes.slice(-2).sort()).toEqual(['comes - → 1', 'goes 1 → -']);
    expect(mirror.reflector.stats().relists).toBeGreaterThan(0);
  });

  it('is right again after the API server was killed', async () => {
    const mirror = reflect('killed');
    await mirror.reflector.whenSynced();
    await cluster.killApi();
    await until('the outage to be noticed', () => mirror.troubles.length > 1);
    await cluster.startApi();
    await kube.create(MAPS, map('after', 'killed'));
    await until('what was made then', () => namesOf(mirror).join() === key('after'));
  });
});

describe('a watch', () => {
  it('brings bookmarks: versions to go on from, of changes that it does not show', async () => {
    let version = '';
    for await (const page of kube.pages(MAPS)) version = page.resourceVersion;
    const seen: { type: string; version: string | undefined }[] = [];
    const watching = (async () => {
      const selection = { labelSelector: 'group=bookmarks', resourceVersion: version, timeoutSeconds: 4 };
      for await (const { type, object } of kube.watch(MAPS, selection)) seen.push({ type, version: object.metadata.resourceVersion });
    })();
    const other = await kube.create(MAPS, map('not-selected', 'others'));
    await watching;
    expect(new Set(seen.map(({ type }) => type))).toEqual(new Set(['BOOKMARK']));
    expect(Number(seen.at(-1)?.version)).toBeGreaterThanOrEqual(Number(other.metadata.resourceVersion));
  });

  it('from a version that etcd has compacted is refused as expired', async () => {
    await cluster.compactEtcd();
    await cluster.restartApi();
    const watching = kube.watch(MAPS, { resourceVersion: '1' })[Symbol.asyncIterator]().next();
    await expect(watching).rejects.toMatchObject({ reason: 'Expired', status: 410 });
  });
});
