/** What the API server lets the controller's account do under the policy that is shipped beside its rights: its own Jobs and pods, and nobody else's. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ToolchainPool } from '../../src/contracts/kubernetes/toolchain-pool.ts';
import { jobOf, templateOf } from '../../src/controller/pools/apply/template.ts';
import { TOOLCHAIN_POOLS } from '../../src/controller/pools/observe/objects.ts';
import { connectKube, type Kube } from '../../src/kube/connection/connect.ts';
import { KubeError } from '../../src/kube/connection/error.ts';
import { JOBS, type KubeObject, PODS } from '../../src/kube/resource.ts';
import { aPool, applyPool, installResources } from '../kit/controller.ts';
import { controllerAccount } from '../kit/controller-account.ts';
import { type Cluster, startKubernetes } from '../kit/kubernetes.ts';
import { eventually } from '../kit/wire.ts';

const HOME = 'filemill';
const POLICY = 'manifests/admission/controller.yaml';
let cluster: Cluster;
/** As the controller. */
let asController: Kube;
let own: KubeObject & { readonly spec: { readonly template: { readonly metadata: object; readonly spec: object } } };

beforeAll(async () => {
  cluster = await startKubernetes({ without: ['controllers', 'scheduler', 'kwok'] });
  await installResources(cluster);
  for (const name of [HOME, 'team']) {
    await cluster.kubectl(['create', 'namespace', name]);
    // Nobody makes the account that pods need.
    await cluster.kubectl(['create', 'serviceaccount', 'default', `--namespace=${name}`]);
  }
  asController = await connectKube({ kubeconfig: await controllerAccount(cluster, 'all-namespaces.yaml', HOME) });
  const pool = ToolchainPool.parse({
    apiVersion: 'filemill.io/v1alpha1',
    kind: 'ToolchainPool',
    ...(await applyPool(cluster.kube, aPool('image', {}, { namespace: HOME }))),
  });
  own = jobOf(pool, 0, templateOf(pool, ['nats:4222'])) as unknown as typeof own;
  const { code, stderr } = await cluster.kubectl(['apply', '--server-side', `--filename=${POLICY}`]);
  if (code !== 0) throw new Error(stderr);
  let tries = 0;
  await eventually(
    async () => (await refusalOf(() => asController.create(JOBS, stranger(`probe-${++tries}`)))) !== undefined,
    'it is in force',
    30_000,
  );
}, 120_000);
afterAll(async () => {
  asController?.close();
  await cluster?.stop();
});

const stranger = (name: string, namespace = HOME) => ({ ...own, metadata: { name, namespace } });
const changed = (name: string, pod: object, namespace = HOME) => {
  const { template } = own.spec;
  const spec = { ...own.spec, template: { ...template, spec: { ...template.spec, ...pod } } };
  return { ...own, metadata: { ...own.metadata, name, namespace }, spec };
};

/** @returns in what words, or undefined where it is let through */
async function refusalOf(call: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    if (!(error instanceof KubeError) || (error.status !== 422 && error.status !== 403)) throw error;
    return error.message;
  }
}

describe('the controller', () => {
  it('makes and removes Jobs of its pools, as it makes them', async () => {
    await asController.create(JOBS, own);
    await asController.remove(JOBS, own.metadata);
    await eventually(
      () =>
        asController.get(JOBS, own.metadata).then(
          () => false,
          () => true,
        ),
      'it is gone',
      10_000,
    );
  });

  it('makes no Job that no pool owns, and removes none', async () => {
    expect(await refusalOf(() => asController.create(JOBS, stranger('theirs')))).toContain('only Jobs that a ToolchainPool owns');
    await cluster.kube.create(JOBS, stranger('theirs'));
    expect(await refusalOf(() => asController.remove(JOBS, { name: 'theirs', namespace: HOME }))).toContain(
      'only Jobs that a ToolchainPool owns',
    );
    expect((await cluster.kube.get(JOBS, { name: 'theirs', namespace: HOME })).metadata.deletionTimestamp).toBeUndefined();
  });

  it('makes none where no pools are taken, so that it reads no Secret there', async () => {
    expect(await refusalOf(() => asController.create(JOBS, changed('reader', {}, 'team')))).toContain('no pools in this namespace');
  });

  it.each([
    ['with a token', { automountServiceAccountToken: true }],
    ["on its node's network", { hostNetwork: true }],
    [
      "with its node's files",
      {
        volumes: [
          { name: 'work', hostPath: { path: '/' } },
          { name: 'nats', emptyDir: {} },
        ],
      },
    ],
    ['as root', { securityContext: { runAsNonRoot: false } }],
  ])('makes no Job of a pod %s', async (_, pod) => {
    expect(await refusalOf(() => asController.create(JOBS, changed('loose', pod)))).toContain('only Jobs of restricted pods');
  });

  it("annotates its workers' pods, and changes nothing else of them nor any other pod", async () => {
    const { metadata, spec } = own.spec.template;
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'filemill-image-0', uid: '0', controller: true };
    const mine = { metadata: { ...metadata, name: 'worker', namespace: HOME, ownerReferences: [owner] }, spec };
    await cluster.kube.create(PODS, mine);
    await cluster.kube.create(PODS, { metadata: { name: 'theirs', namespace: HOME }, spec });
    const annotate = (name: string) =>
      asController.patch(PODS, { name, namespace: HOME }, { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } });
    await annotate('worker');
    expect(await refusalOf(() => annotate('theirs'))).toContain("only annotations of its workers' pods");
    const relabel = () => asController.patch(PODS, { name: 'worker', namespace: HOME }, { metadata: { labels: { app: 'web' } } });
    expect(await refusalOf(relabel)).toContain("only annotations of its workers' pods");
  });

  it('is the only one who is held to it', async () => {
    await cluster.kube.create(JOBS, changed('anybody', { automountServiceAccountToken: true }));
    expect((await cluster.kube.get(TOOLCHAIN_POOLS, { name: 'image', namespace: HOME })).metadata.name).toBe('image');
    expect(await readFile(POLICY, 'utf8')).toContain('system:serviceaccount:filemill:filemill-controller');
  });
});
