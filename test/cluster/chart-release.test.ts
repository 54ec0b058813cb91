/** A release over its life, by Helm on a real API server: what an upgrade, an uninstall and another install leave as it was. */

import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ToolchainPool } from '../../src/contracts/kubernetes/toolchain-pool.ts';
import { toolchains } from '../../src/contracts/toolchains.ts';
import { jobOf, templateOf } from '../../src/controller/pools/apply/template.ts';
import { connectKube } from '../../src/kube/connection/connect.ts';
import { KubeError } from '../../src/kube/connection/error.ts';
import { JOBS } from '../../src/kube/resource.ts';
import { eventually } from '../kit/api/wire.ts';
import { aPool, applyPool } from '../kit/controller/controller.ts';
import { CHART, type Manifest, manifestsOf, openHelm, PRODUCTION, TRIAL } from '../kit/kube/chart.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';

const { folder, run, remove } = openHelm();
let cluster: Cluster;

beforeAll(async () => {
  cluster = await startKubernetes({ without: ['controllers', 'scheduler', 'kwok'] });
}, 120_000);
afterAll(async () => {
  remove();
  await cluster?.stop();
});

let namespaces = 0;
/** Helm in a separate namespace. Hooks are left out: nothing would run them here. */
async function newRelease() {
  const namespace = `release-${++namespaces}`;
  await cluster.kubectl(['create', 'namespace', namespace]);
  const helm = (verb: string, ...args: readonly string[]) =>
    run([verb, 'filemill', ...args, '--namespace', namespace, '--kubeconfig', cluster.kubeconfig, '--no-hooks']);
  const get = async (what: string): Promise<Manifest | undefined> => {
    const { code, stdout } = await cluster.kubectl(['get', what, `--namespace=${namespace}`, '--output=json']);
    return code === 0 ? (JSON.parse(stdout) as Manifest) : undefined;
  };
  return {
    namespace,
    get,
    helm,
    async must(verb: string, ...args: readonly string[]) {
      const { code, stderr } = await helm(verb, ...args);
      expect({ code, stderr }).toMatchObject({ code: 0 });
    },
  };
}

describe('a release', () => {
  it('leaves the key that passwords were encrypted with, and takes it up when it is installed again', async () => {
    const { must, get } = await newRelease();
    const values = [CHART, ...PRODUCTION, '--set', 'namespace.create=false', '--set', 'secrets.existingSecret='];
    await must('install', ...values);
    const key = (await get('secret/filemill-keys'))?.['data'].SECRET_KEY;
    expect(Buffer.from(key, 'base64').length).toBeGreaterThanOrEqual(32);
    await must('uninstall');
    expect((await get('secrets'))?.['items'].map(({ metadata }: Manifest) => metadata.name)).toEqual(['filemill-keys']);
    await must('install', ...values);
    expect((await get('secret/filemill-keys'))?.['data'].SECRET_KEY).toBe(key);
    await must('uninstall');
  });

  it('says whose field it is that an upgrade would take back, and takes it with --force-conflicts', async () => {
    const { namespace, must, helm, get } = await newRelease();
    const values = [CHART, ...PRODUCTION, '--set', 'namespace.create=false'];
    await must('install', ...values);
    const patch = { spec: { template: { spec: { terminationGracePeriodSeconds: 90 } } } };
    await cluster.kubectl(['patch', 'deployment/filemill-api', `--namespace=${namespace}`, '--patch', JSON.stringify(patch)]);
    const grace = async () => (await get('deployment/filemill-api'))?.['spec'].template.spec.terminationGracePeriodSeconds;
    const longer = ['--set', 'api.terminationGraceSeconds=120'];
    const { code, stderr } = await helm('upgrade', ...values, ...longer);
    expect(code).not.toBe(0);
    expect(stderr).toContain('conflict with "kubectl-patch"');
    expect(await grace()).toBe(90);
    await must('upgrade', ...values, ...longer, '--force-conflicts');
    expect(await grace()).toBe(120);
    await must('uninstall');
  });

  it.each([
    ['of a trial', TRIAL, 'tls://filemill-nats:4222'],
    ['that uses a separate NATS', [...PRODUCTION, '--set', 'namespace.create=false'], 'nats:4222'],
  ])(
    '%s lets the controller make Jobs of its pools and of those that were there before an upgrade, and no others',
    async (_, values, nats) => {
      const { namespace, must, get } = await newRelease();
      // As an earlier version, which had no policy that knows pools.
      await must('install', CHART, ...values, '--set', 'controller.admission=false');
      const byHand = (name: string) => applyPool(cluster.kube, aPool(name, { toolchain: 'media' }, { namespace }));
      await byHand('media-gpu');
      await must('upgrade', CHART, ...values);
      const asController = await connectKube({ kubeconfig: await cluster.kubeconfigFor({ name: 'filemill-controller', namespace }) });
      // One that is refused takes no slot.
      const taken = new Map<string, number>();
      const refusal = async (name: string, server = nats): Promise<string | undefined> => {
        const pool = ToolchainPool.parse(await get(`toolchainpool/${name}`));
        try {
          const slot = taken.get(name) ?? 0;
          await asController.create(JOBS, jobOf(pool, slot, templateOf(pool, [server])));
          taken.set(name, slot + 1);
          return undefined;
        } catch (error) {
          if (!(error instanceof KubeError) || error.status !== 422) throw error;
          return error.message;
        }
      };
      const POOLS = [...toolchains, 'media-gpu'];
      for (const pool of POOLS)
        await eventually(async () => (await refusal(pool, '192.0.2.1'))?.includes('SETTINGS'), `${pool}: it is in force`, 30_000);
      expect(await Promise.all(POOLS.map((pool) => refusal(pool)))).toEqual(POOLS.map(() => undefined));
      await byHand('later');
      expect(await refusal('later')).toContain('until an administrator names it: in controller.morePools of the chart');
      await must('upgrade', CHART, ...values, '--set', 'controller.morePools={later}');
      await eventually(async () => (await refusal('later')) === undefined, 'it is named', 30_000);
      await eventually(async () => (await refusal('later', '192.0.2.1'))?.includes('SETTINGS'), 'it is bound', 30_000);
      asController.close();
      await must('uninstall');
    },
  );

  it('keeps the servers of a trial as they are where a pool is added, and lets NATS know its user', async () => {
    const { must, get } = await newRelease();
    await must('install', CHART, ...TRIAL, '--set', 'pools.web.enabled=false');
    const servers = async () => {
      const sets = await Promise.all(['nats', 'minio'].map((name) => get(`statefulset/filemill-${name}`)));
      return sets.map((set) => ({ strategy: set?.['spec'].updateStrategy.type, template: set?.['spec'].template }));
    };
    const users = async (): Promise<readonly string[]> => {
      const config = Buffer.from((await get('secret/filemill-nats-config'))?.['data']['nats.conf'], 'base64').toString();
      return [...config.matchAll(/\{ user: (\S+, password: "\w+")/g)].map(([, user]) => user ?? '');
    };
    const [before, known] = [await servers(), await users()];
    expect(before.map(({ strategy }) => strategy)).toEqual(['OnDelete', 'OnDelete']);
    // The server knows the user of a pool that is not enabled before anybody enables it.
    expect(known.some((user) => user.startsWith('worker-web,'))).toBe(true);
    await must('upgrade', CHART, ...TRIAL, '--set', 'pools.more.enabled=true,pools.more.spec.toolchain=pdf');
    expect(await servers()).toEqual(before);
    const now = await users();
    expect(now.filter((user) => !known.includes(user)).map((user) => user.replace(/,.*/, ''))).toEqual(['worker-more']);
    expect(known.every((user) => now.includes(user))).toBe(true);
    expect((await get('toolchainpool/web'))?.['spec'].natsSecretRef.name).toBe('filemill-nats-worker-web');
    await must('uninstall');
  });

  it('keeps the servers of a trial that an earlier chart installed, which Kubernetes gave another strategy', async () => {
    const { must, get } = await newRelease();
    const earlier = join(folder, 'earlier');
    cpSync(CHART, earlier, { recursive: true });
    for (const name of ['nats', 'minio']) {
      const path = join(earlier, `templates/trial-${name}.yaml`);
      writeFileSync(path, readFileSync(path, 'utf8').replace(/^ +updateStrategy: .*\n/m, ''));
    }
    await must('install', earlier, ...TRIAL);
    const strategies = () =>
      Promise.all(['nats', 'minio'].map(async (name) => (await get(`statefulset/filemill-${name}`))?.['spec'].updateStrategy));
    expect(await strategies()).toEqual(Array(2).fill({ type: 'RollingUpdate', rollingUpdate: { partition: 0 } }));
    await must('upgrade', CHART, ...TRIAL);
    // Only pods with this ordinal or a higher one are replaced, and there is one, 0.
    expect(await strategies()).toEqual(Array(2).fill({ type: 'RollingUpdate', rollingUpdate: { partition: 1 } }));
    await must('rollback', '1');
    await must('uninstall');
  });

  it('puts the data of a trial on volumes where the cluster has a default class, and leaves them there', async () => {
    const { must, get } = await newRelease();
    const storageClass = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'disks', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'example.org/disks',
    };
    await cluster.kubectl(['apply', '--filename=-'], JSON.stringify(storageClass));
    const dataOf = async (name: string) => {
      const volumes = (await get(`statefulset/filemill-${name}`))?.['spec'].template.spec.volumes;
      return volumes.find((volume: { name: string }) => volume.name === 'data');
    };
    try {
      await must('install', CHART, ...TRIAL);
      for (const name of ['nats', 'minio'])
        expect(await dataOf(name)).toEqual({ name: 'data', persistentVolumeClaim: { claimName: `filemill-${name}` } });
      expect((await get('persistentvolumeclaim/filemill-nats'))?.['spec']).toMatchObject({
        storageClassName: 'disks',
        resources: { requests: { storage: '2Gi' } },
      });
      await cluster.kubectl(['delete', 'storageclass', 'disks']);
      await must('upgrade', CHART, ...TRIAL);
      expect((await dataOf('nats')).persistentVolumeClaim).toEqual({ claimName: 'filemill-nats' });
      await must('uninstall');
    } finally {
      await cluster.kubectl(['delete', 'storageclass', 'disks', '--ignore-not-found']);
    }
  });

  it('keeps the data of a trial in its pods where that is wanted', async () => {
    const { must, get } = await newRelease();
    await must('install', CHART, ...TRIAL, '--set', 'nats.trial.storageClass=-');
    expect(await get('persistentvolumeclaim/filemill-nats')).toBeUndefined();
    await must('uninstall');
  });
});

describe('a chart that depends on this one', () => {
  const umbrella = join(folder, 'platform');
  beforeAll(() => {
    mkdirSync(join(umbrella, 'charts'), { recursive: true });
    cpSync(CHART, join(umbrella, 'charts/filemill'), { recursive: true });
    const dependencies = [{ name: 'filemill', version: '0.1.0', condition: 'filemill.enabled' }];
    writeFileSync(join(umbrella, 'Chart.yaml'), JSON.stringify({ apiVersion: 'v2', name: 'platform', version: '1.0.0', dependencies }));
    const trial = { image: { registry: 'registry.example.org' }, nats: { trial: { enabled: true } }, s3: { trial: { enabled: true } } };
    const filemill = { enabled: true, ...trial, api: { publicUrl: 'https://files.example.org' } };
    writeFileSync(join(umbrella, 'values.yaml'), JSON.stringify({ global: { team: 'files' }, filemill }));
  });

  it('has it where its condition holds, and else nothing of it', async () => {
    const kinds = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await run(['template', 'platform', umbrella, ...args]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return manifestsOf(stdout).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    };
    expect(await kinds()).toContain('Deployment platform-filemill-api');
    expect(await kinds('--set', 'filemill.enabled=false')).toEqual([]);
  });

  it('is told that the chart alone has no such switch', async () => {
    const { code, stderr } = await run(['template', CHART, ...TRIAL, '--set', 'enabled=false']);
    expect(code).not.toBe(0);
    expect(stderr).toContain('enabled: false is for a chart that has this one among its dependencies');
  });
});
