/** What clusters differ in, as values of the chart: what each renders to, and that a real API server takes it. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelsOf } from '../../src/catalog/engine.ts';
import { engines } from '../../src/catalog/engines.gen.ts';
import { ToolchainPool } from '../../src/contracts/kubernetes/toolchain-pool.ts';
import { toolchains } from '../../src/contracts/toolchains.ts';
import { jobOf, templateOf } from '../../src/controller/pools/apply/template.ts';
import { CHART, type Manifest, manifestsOf, openHelm, PRODUCTION, TRIAL } from '../kit/kube/chart.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';

const ROLES = ['api', 'controller', 'egress'] as const;
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;
const { run, rendered, values: valuesIn, remove } = openHelm();

/** The pods of the roles, and of a worker as the controller creates it. */
function podsOf(all: readonly Manifest[]): Readonly<Record<string, Manifest>> {
  const template = (role: string) => find(all, 'Deployment', `filemill-${role}`)['spec'].template;
  return { ...Object.fromEntries(ROLES.map((role) => [role, template(role)])), worker: workerOf(all, 'image') };
}
const workerOf = (all: readonly Manifest[], pool: string) =>
  templateOf(ToolchainPool.parse(find(all, 'ToolchainPool', pool)), []).pod as Manifest;
function find(all: readonly Manifest[], kind: string, name: string): Manifest {
  const found = all.find((one) => one.kind === kind && one.metadata.name === name);
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found;
}
const each = (roles: readonly string[], value: unknown) => Object.fromEntries(roles.map((role) => [role, value]));
const ALL = [...ROLES, 'worker'];
const ofPods = (all: readonly Manifest[], what: (pod: Manifest) => unknown) =>
  Object.fromEntries(Object.entries(podsOf(all)).map(([role, pod]) => [role, what(pod)]));
const containerOf = (pod: Manifest) => pod['spec'].containers[0];
const names = (things: readonly { readonly name: string }[] = []) => things.map(({ name }) => name);
const named = (things: readonly { readonly name: string }[], name: string) => things.find((one) => one.name === name);

interface Row {
  readonly says: string;
  readonly values: object;
  readonly base?: readonly string[];
  readonly args?: readonly string[];
  /** It is about one of them. */
  readonly hooks?: true;
  readonly finds: (all: readonly Manifest[]) => unknown;
  readonly expected: unknown;
}

/** The toolchains whose images have programs around models. */
const WITH_MODELS = [
  ...new Set(engines.filter((engine) => modelsOf(engine).length > 0).flatMap(({ toolchains }) => toolchains)),
].toSorted();

const ROWS: readonly Row[] = [
  {
    says: 'models on a volume, which a Job brings and workers only read',
    hooks: true,
    values: { models: { claim: 'models', ids: ['whisper-base'], index: 'https://mirror.example/simple' } },
    finds: (all) => {
      const { args, env, volumeMounts } = containerOf(find(all, 'Job', 'filemill-models')['spec'].template);
      const mounted = all.filter(
        ({ kind, spec }) => kind === 'ToolchainPool' && named(spec.template?.spec?.volumes ?? [], 'models') !== undefined,
      );
      const worker = workerOf(all, 'ai');
      const { env: variables, volumeMounts: mounts } = containerOf(worker);
      return {
        job: [args, env, names(volumeMounts)],
        pools: mounted.map(({ spec, metadata }) => spec.toolchain ?? metadata.name).toSorted(),
        worker: [named(variables, 'FILEMILL_MODELS'), named(mounts, 'models'), named(worker['spec'].volumes, 'models')],
        told: worker.metadata['annotations']?.['filemill.io/models'],
      };
    },
    expected: {
      job: [
        ['models', 'pull', '--into', '/mnt/models', 'whisper-base'],
        [{ name: 'PIP_INDEX_URL', value: 'https://mirror.example/simple' }],
        ['models'],
      ],
      pools: WITH_MODELS,
      worker: [
        { name: 'FILEMILL_MODELS', value: '/mnt/models' },
        { name: 'models', mountPath: '/mnt/models', readOnly: true },
        { name: 'models', persistentVolumeClaim: { claimName: 'models', readOnly: true } },
      ],
      told: 'whisper-base',
    },
  },
  {
    says: 'AI models on GPUs, before those on processors',
    values: { pools: { 'ai-cuda': { enabled: true } } },
    finds: (all) =>
      all
        .filter(({ kind, spec, metadata }) => kind === 'ToolchainPool' && (spec.toolchain ?? metadata.name) === 'ai')
        .map(({ metadata, spec }) => [metadata.name, spec.image, spec.preference ?? 0, spec.resources.limits['nvidia.com/gpu']])
        .sort(),
    expected: [
      ['ai', 'registry.example.org/filemill/ai:0.1.0', 0, undefined],
      ['ai-cuda', 'registry.example.org/filemill/ai-cuda:0.1.0', -1, '1'],
    ],
  },
  {
    says: 'another user',
    values: { pods: { runAsUser: 1_000_640_000 } },
    finds: (all) => ofPods(all, ({ spec }) => [spec.securityContext.runAsUser, spec.securityContext.fsGroup]),
    expected: each(ALL, [1_000_640_000, 1_000_640_000]),
  },
  {
    says: 'no user, for a cluster that assigns one',
    values: { pods: { runAsUser: 0 } },
    finds: (all) => ofPods(all, ({ spec }) => spec.securityContext),
    expected: each(ALL, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }),
  },
  {
    says: 'no user on OpenShift, without being told',
    values: {},
    args: ['--api-versions', 'security.openshift.io/v1'],
    finds: (all) => ofPods(all, ({ spec }) => spec.securityContext),
    expected: each(ALL, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }),
  },
  {
    says: 'more of the security contexts',
    values: { pods: { securityContext: { fsGroupChangePolicy: 'OnRootMismatch' }, containerSecurityContext: { runAsNonRoot: true } } },
    finds: (all) => [
      ofPods(all, ({ spec }) => [spec.securityContext.runAsUser, spec.securityContext.fsGroupChangePolicy]),
      ROLES.map((role) => containerOf(podsOf(all)[role] as Manifest).securityContext.runAsNonRoot),
    ],
    expected: [each(ALL, [10_001, 'OnRootMismatch']), [true, true, true]],
  },
  {
    says: 'certificates for NATS',
    values: { nats: { certificateSecret: 'cert-%s', caConfigMap: 'authorities', caSecret: '' } },
    finds: (all) => {
      const { egress: _, ...asked } = ofPods(all, (pod) => [
        names(containerOf(pod).env).filter((name) => name.startsWith('NATS_')),
        (named(pod['spec'].volumes, 'nats-certificate') as { secret?: { secretName: string } } | undefined)?.secret?.secretName,
        (named(pod['spec'].volumes, 'nats-ca') as { configMap?: { name: string } } | undefined)?.configMap?.name,
      ]);
      return asked;
    },
    expected: Object.fromEntries(
      ['api', 'controller', 'worker'].map((role) => [
        role,
        [['NATS_CA', 'NATS_CERT', 'NATS_KEY'], `cert-${role === 'worker' ? 'worker-image' : role}`, 'authorities'],
      ]),
    ),
  },
  {
    says: "the object store's authority in a ConfigMap",
    values: { s3: { caConfigMap: 'store' } },
    finds: (all) => {
      const { api, worker } = podsOf(all);
      return [api, worker].map((pod) => [
        named(pod?.['spec'].volumes, 's3-ca'),
        names(containerOf(pod as Manifest).env).includes('NODE_EXTRA_CA_CERTS'),
      ]);
    },
    expected: Array(2).fill([{ name: 's3-ca', configMap: { name: 'store', items: [{ key: 'ca.crt', path: 'ca.crt' }] } }, true]),
  },
  {
    says: 'a credentials file for NATS, where its Secret has one',
    values: {},
    finds: (all) => {
      const { egress: _, ...asked } = ofPods(
        all,
        (pod) => containerOf(pod).volumeMounts.find(({ name }: { name: string }) => name === 'nats')?.mountPath,
      );
      return asked;
    },
    expected: each(['api', 'controller', 'worker'], '/etc/filemill/nats'),
  },
  {
    says: 'variables, volumes, labels and annotations of all pods',
    values: {
      pods: {
        env: [{ name: 'TZ', value: 'Europe/Vienna' }],
        volumes: [{ name: 'more', configMap: { name: 'more', optional: true } }],
        volumeMounts: [{ name: 'more', mountPath: '/mnt/more', readOnly: true }],
        labels: { team: 'files' },
        annotations: { 'example.org/owner': 'files' },
      },
    },
    finds: (all) =>
      ofPods(all, (pod) => [
        names(containerOf(pod).env).includes('TZ'),
        names(pod['spec'].volumes).includes('more'),
        containerOf(pod).volumeMounts.some(({ mountPath }: { mountPath: string }) => mountPath === '/mnt/more'),
        pod.metadata.labels?.['team'],
        pod.metadata.annotations?.['example.org/owner'],
      ]),
    expected: each(ALL, [true, true, true, 'files', 'files']),
  },
  {
    says: 'variables, volumes, labels, annotations, placement and accounts of each role',
    values: each(ROLES, {
      env: [{ name: 'TZ', value: 'Europe/Vienna' }],
      volumes: [{ name: 'more', emptyDir: {} }],
      volumeMounts: [{ name: 'more', mountPath: '/mnt/more' }],
      podLabels: { team: 'files' },
      podAnnotations: { 'example.org/owner': 'files' },
      affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
      nodeSelector: { disk: 'fast' },
      priorityClassName: 'important',
      serviceAccount: { create: false, name: 'ours' },
    }),
    finds: (all) => {
      const { worker: _, ...asked } = ofPods(all, (pod) => [
        names(containerOf(pod).env).includes('TZ'),
        names(containerOf(pod).volumeMounts).includes('more'),
        pod.metadata.labels?.['team'],
        pod.metadata.annotations?.['example.org/owner'],
        pod['spec'].affinity !== undefined,
        pod['spec'].nodeSelector,
        pod['spec'].priorityClassName,
        pod['spec'].serviceAccountName,
      ]);
      const accounts = all.filter(({ kind }) => kind === 'ServiceAccount').length;
      const subject = find(all, 'RoleBinding', 'filemill-controller')['subjects'][0].name;
      const policy = find(all, 'ValidatingAdmissionPolicy', 'filemill-filemill-controller')['spec'].matchConditions[0].expression;
      return [asked, accounts, subject, policy.endsWith(':ours"')];
    },
    expected: [each(ROLES, [true, true, 'files', 'files', true, { disk: 'fast' }, 'important', 'ours']), 0, 'ours', true],
  },
  {
    says: 'how names are resolved, host aliases, and a scheduler',
    values: {
      pods: {
        dnsPolicy: 'None',
        dnsConfig: { nameservers: ['192.0.2.53'], options: [{ name: 'ndots', value: '2' }] },
        hostAliases: [{ ip: '192.0.2.9', hostnames: ['s3.example.org'] }],
        schedulerName: 'packing',
      },
    },
    finds: (all) =>
      ofPods(all, ({ spec }) => [spec.dnsPolicy, spec.dnsConfig.nameservers, spec.hostAliases[0].hostnames, spec.schedulerName]),
    expected: each(ALL, ['None', ['192.0.2.53'], ['s3.example.org'], 'packing']),
  },
  {
    says: 'digests of images',
    values: { image: { digests: { app: DIGEST, image: DIGEST } } },
    finds: (all) => [...ofPodsImages(all), ToolchainPool.parse(find(all, 'ToolchainPool', 'pdf')).spec.image],
    expected: [
      ...ROLES.map(() => `registry.example.org/filemill/app@${DIGEST}`),
      `registry.example.org/filemill/image@${DIGEST}`,
      'registry.example.org/filemill/pdf:0.1.0',
    ],
  },
  {
    // The test's own cluster has but one family.
    says: 'both families of addresses',
    values: { service: { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv4'] } },
    finds: (all) => {
      const services = all.filter(({ kind }) => kind === 'Service');
      const settings: string = find(all, 'ConfigMap', 'filemill')['data']['filemill.yaml'];
      const workers: string = find(all, 'ConfigMap', 'filemill-worker')['data']['filemill.yaml'];
      const families = services.map(({ spec }) => `${spec.ipFamilyPolicy} ${spec.ipFamilies}`);
      return [new Set(families), services.length, [settings, workers].every((text) => /^ {2}host: '?::'?$/m.test(text))];
    },
    expected: [new Set(['PreferDualStack IPv4']), 3, true],
  },
  {
    says: 'where the servers of a trial listen, for both families of addresses',
    base: TRIAL,
    values: { service: { ipFamilyPolicy: 'PreferDualStack' } },
    finds: (all) => find(all, 'Secret', 'filemill-nats-config')['stringData']['nats.conf'].match(/(?<=^(listen|http): ).*$/gm),
    expected: ['"[::]:4222"', '"[::]:8222"'],
  },
  {
    says: 'another name of the release',
    values: { fullnameOverride: '', nameOverride: 'converter' },
    finds: (all) => all.filter(({ kind }) => kind === 'Deployment').map(({ metadata }) => metadata.name),
    expected: ROLES.map((role) => `filemill-converter-${role}`),
  },
  {
    says: 'a secret to pull images with, and the Secrets by which NATS knows each program',
    values: {
      image: { pullSecrets: ['registry'] },
      nats: { apiSecret: 'nats-a', controllerSecret: 'nats-c', workerSecret: 'nats-w-%s' },
    },
    finds: (all) => [
      ofPods(all, ({ spec }) => names(spec.imagePullSecrets)),
      ofPods(all, ({ spec }) => spec.volumes.find(({ name }: { name: string }) => name === 'nats')?.secret?.secretName),
    ],
    expected: [each(ALL, ['registry']), { api: 'nats-a', controller: 'nats-c', egress: undefined, worker: 'nats-w-image' }],
  },
  {
    says: 'how many replicas of the API an autoscaler keeps, and for which load',
    values: { api: { autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 7, targetCPUUtilizationPercentage: 55 } } },
    finds: (all) => {
      const { minReplicas, maxReplicas, metrics } = find(all, 'HorizontalPodAutoscaler', 'filemill-api')['spec'];
      return [minReplicas, maxReplicas, metrics[0].resource.target.averageUtilization];
    },
    expected: [3, 7, 55],
  },
  {
    says: 'where NATS, names and the Kubernetes API are reached',
    values: {
      networkPolicy: {
        apiServerPorts: [16443],
        dnsTo: [{ ipBlock: { cidr: '192.0.2.53/32' } }],
        natsTo: [{ ipBlock: { cidr: '192.0.2.42/32' } }],
        natsPort: 14222,
      },
    },
    finds: (all) =>
      (find(all, 'NetworkPolicy', 'filemill-controller')['spec'].egress as readonly Manifest[]).map(({ ports, to }) => [
        ports[0].port,
        to[0].ipBlock.cidr,
      ]),
    expected: [
      [53, '192.0.2.53/32'],
      [14222, '192.0.2.42/32'],
      [16443, '0.0.0.0/0'],
    ],
  },
  {
    says: 'which image a pool has, what the roles of people mean here, and the labels of the dashboard',
    values: {
      pools: { 'ai-cuda': { enabled: true, imageName: 'ai' } },
      controller: { peopleRoles: false },
      metrics: { dashboard: { enabled: true, labels: { grafana_dashboard: 'files' } } },
    },
    finds: (all) => [
      ToolchainPool.parse(find(all, 'ToolchainPool', 'ai-cuda')).spec.image,
      all.filter(({ kind, metadata }) => kind === 'ClusterRole' && /-(view|edit|admin)$/.test(metadata.name)),
      find(all, 'ConfigMap', 'filemill-dashboard').metadata.labels?.['grafana_dashboard'],
    ],
    expected: ['registry.example.org/filemill/ai:0.1.0', [], 'files'],
  },
  {
    says: 'a PodDisruptionBudget of each role',
    values: {},
    finds: (all) => all.filter(({ kind }) => kind === 'PodDisruptionBudget').map(({ metadata }) => metadata.name),
    expected: ROLES.map((role) => `filemill-${role}`),
  },
  {
    says: 'how long a replica may finish uploads and downloads: of its grace period what its preStop leaves, less 5 s',
    values: { api: { terminationGraceSeconds: 120, preStopSeconds: 10 } },
    finds: (all) => /^ {2}drainMs: (\d+)$/m.exec(find(all, 'ConfigMap', 'filemill')['data']['filemill.yaml'])?.[1],
    expected: '105000',
  },
  {
    says: 'how many old revisions are kept',
    values: { revisionHistoryLimit: 2 },
    finds: (all) => all.filter(({ kind }) => kind === 'Deployment').map(({ spec }) => spec.revisionHistoryLimit),
    expected: [2, 2, 2],
  },
  {
    says: 'labels and annotations of everything, where the chart has the same keys',
    base: TRIAL,
    values: {
      commonLabels: { team: 'files', 'app.kubernetes.io/part-of': 'platform', 'app.kubernetes.io/name': 'other' },
      commonAnnotations: { 'example.org/cost': '7', 'nginx.ingress.kubernetes.io/proxy-body-size': '1g' },
      ingress: { enabled: true, annotations: { 'nginx.ingress.kubernetes.io/proxy-body-size': '4g' } },
      pods: { labels: { 'app.kubernetes.io/component': 'other' }, annotations: { 'checksum/config': 'mine' } },
      pools: Object.fromEntries(toolchains.map((name) => [name, { enabled: false }])),
    },
    finds: (all) => [
      all.filter(({ metadata: { labels = {} } }) => labels['team'] !== 'files' || labels['app.kubernetes.io/name'] !== 'filemill'),
      all.filter(({ metadata: { annotations = {} } }) => annotations['example.org/cost'] !== '7'),
      find(all, 'Ingress', 'filemill').metadata.annotations?.['nginx.ingress.kubernetes.io/proxy-body-size'],
      find(all, 'Deployment', 'filemill-api')['spec'].template.metadata.labels['app.kubernetes.io/component'],
    ],
    expected: [[], [], '4g', 'api'],
  },
  {
    says: 'that pods of the roles may be evicted for fewer nodes, in spite of their volumes',
    values: {},
    finds: (all) =>
      ofPods(all, ({ metadata, spec }) => {
        const volumes: string = metadata.annotations?.['cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes'] ?? '';
        const local = spec.volumes.filter(({ emptyDir }: { emptyDir?: object }) => emptyDir !== undefined);
        return names(local).every((name) => volumes.split(',').includes(name)) && volumes !== '';
      }),
    expected: each(ALL, true),
  },
];
const ofPodsImages = (all: readonly Manifest[]) => Object.values(podsOf(all)).map((pod) => containerOf(pod).image);

describe('a value of the chart', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startKubernetes({ without: ['controllers', 'scheduler', 'kwok'] });
    await cluster.kubectl(['apply', '--server-side', `--filename=${CHART}/crds`]);
    await cluster.kubectl(['create', 'namespace', 'filemill']);
    await cluster.kubectl(['label', 'namespace', 'filemill', 'pod-security.kubernetes.io/warn=restricted']);
  }, 120_000);
  afterAll(async () => {
    remove();
    await cluster?.stop();
  });

  it.each(ROWS)('says $says', async ({ values, base = PRODUCTION, args = [], finds, expected, hooks }) => {
    const text = await rendered(...base, ...valuesIn(values), ...args, hooks ? '--skip-tests' : '--no-hooks');
    expect(finds(manifestsOf(text))).toEqual(expected);
    const dryRun = ['apply', '--server-side', '--dry-run=server', '--force-conflicts', '--filename=-'];
    expect(await cluster.kubectl(dryRun, text)).toMatchObject({ code: 0, stderr: '' });
    // And the Job that the controller makes of it.
    const pool = manifestsOf(text).find(({ kind, metadata }) => kind === 'ToolchainPool' && metadata.name === 'image');
    if (pool === undefined) return;
    const parsed = ToolchainPool.parse({ ...pool, metadata: { ...pool.metadata, uid: 'as-it-would-be' } });
    const job = { apiVersion: 'batch/v1', kind: 'Job', ...jobOf(parsed, 0, templateOf(parsed, [])) };
    expect(await cluster.kubectl(['create', '--dry-run=server', '--filename=-'], JSON.stringify(job))).toMatchObject({
      code: 0,
      stderr: '',
    });
  });

  // No API server here knows the Gateway API.
  it('says how long a request may take by a route of the Gateway API', async () => {
    const own = valuesIn({ httpRoute: { enabled: true, parentRefs: [{ name: 'gateway' }], requestTimeout: '90s' } });
    const all = manifestsOf(await rendered(...PRODUCTION, ...own, '--show-only', 'templates/traffic.yaml'));
    expect(find(all, 'HTTPRoute', 'filemill')['spec'].rules[0].timeouts).toEqual({ request: '90s' });
  });

  it.each(['crds', 'models', 'test'])('says annotations of all pods, that of the hook %s too', async (hook) => {
    const sidecar = 'sidecar.istio.io/inject';
    const own = valuesIn({ pods: { annotations: { [sidecar]: 'false' } }, models: { claim: 'models' } });
    const all = manifestsOf(await rendered(...TRIAL, ...own, '--show-only', `templates/${hook}.yaml`));
    const pods = all.flatMap(({ kind, metadata, ...rest }) =>
      kind === 'Job' ? [rest['spec'].template.metadata] : kind === 'Pod' ? [metadata] : [],
    );
    expect(pods.map(({ annotations }) => annotations[sidecar])).toEqual(['false']);
  });

  it('that two releases share has no name of the cluster in both', async () => {
    const namesOf = async (namespace: string, ...args: readonly string[]) => {
      const { stdout } = await run(['template', 'filemill', CHART, ...TRIAL, ...args, '--namespace', namespace]);
      return new Set(manifestsOf(stdout).map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''} ${metadata.name}`));
    };
    const classes = ['--set', 'priorityClasses.create=true', '--set', 'controller.allNamespaces=true'];
    const first = await namesOf('one', ...classes);
    const others = ['--set', 'priorityClasses.servingName=two-serving,priorityClasses.batchName=two-batch'];
    const second = await namesOf('two', ...classes, ...others);
    expect(first.intersection(second)).toEqual(new Set());
    expect(first.size).toBeGreaterThan(60);
  });
});
