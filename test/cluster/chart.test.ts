/** The chart: what it renders to, what it refuses, and that a real API server takes all of it in a namespace that enforces `restricted`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { ToolchainPool } from '../../src/contracts/kubernetes/toolchain-pool.ts';
import { toolchains } from '../../src/contracts/toolchains.ts';
import { templateOf } from '../../src/controller/pools/apply/template.ts';
import { controllerPermissions, workerPermissions } from '../../src/nats/permissions.ts';
import { CHART, type Manifest, openHelm, PRODUCTION, TRIAL } from '../kit/kube/chart.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';

/** Everything that a separate cluster knows, without the kinds of Prometheus and the Gateway API. */
const ALL = [
  ...['ingress.enabled', 'api.autoscaling.enabled', 'priorityClasses.create', 'controller.allNamespaces', 'metrics.dashboard.enabled'],
  ...['namespace.create'],
].flatMap((value) => ['--set', `${value}=true`]);

const { folder, run: helm, rendered, objects, values: valuesIn, remove } = openHelm();
afterAll(remove);

function writeIn(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('the chart', () => {
  it.each([
    ['for a trial', TRIAL],
    ['with NATS and a bucket that exist', PRODUCTION],
  ])('passes helm lint %s', async (_, values) => {
    expect(await helm(['lint', CHART, '--strict', ...values])).toMatchObject({ code: 0 });
  });

  it.each([
    ['api.replicas=many', "'/api/replicas': got string, want integer"],
    ['api.replica=3', "'/api': additional properties 'replica' not allowed"],
    ['nats.replicas=2', "'/nats/replicas': value must be one of 1, 3, 5"],
    ['image.pullPolicy=Sometimes', "'/image/pullPolicy': value must be one of"],
    ['pools.image.spec.slots=none', "'/pools/image/spec/slots': got string, want integer"],
    ['pools.image.spec.size=3', "'/pools/image/spec': additional properties 'size' not allowed"],
    ['config.api.maxFileByte=3', "'/config/api': additional properties 'maxFileByte' not allowed"],
    ['config.limits.hourly=many', "'/config/limits/hourly': got string, want integer"],
    // What containers, Services and NetworkPolicies share is the chart's.
    ['config.api.metricsPort=1', "'/config/api': additional properties 'metricsPort' not allowed"],
    ['config.controller.probesPort=1', "'/config/controller': additional properties 'probesPort' not allowed"],
    ['config.controller.lease=mine', "'/config/controller': additional properties 'lease' not allowed"],
    // Each pool says this of its workers.
    ['config.worker.slots=4', "'/config/worker': additional properties 'slots' not allowed"],
    ['image.digests.app=sha256:0', "'/image/digests/app': 'sha256:0' does not match pattern"],
    ['service.ipFamilies={IPv5}', "'/service/ipFamilies/0': value must be one of 'IPv4', 'IPv6'"],
    ['api.publicUrl=files.example.org', "'/api/publicUrl': 'files.example.org' does not match pattern"],
  ])('refuses %s by its name', async (value, message) => {
    const { code, stderr } = await helm(['template', CHART, ...PRODUCTION, '--set', value]);
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
  });

  it.each([
    ['image.registry', ['--set', 'image.registry=']],
    ['api.publicUrl', ['--set', 'api.publicUrl=']],
    ['nats.servers', ['--set', 'nats.servers=null']],
    ['s3.endpoint', ['--set', 's3.endpoint=']],
    // Rather than opening port 443 of the Internet to workers.
    ['s3.cidrs or networkPolicy.s3To', ['--set', 's3.cidrs=null']],
  ])('asks for %s where it is missing', async (name, args) => {
    const { code, stderr } = await helm(['template', CHART, ...PRODUCTION, ...args]);
    expect(code).not.toBe(0);
    expect(stderr).toContain(`${name} is required`);
  });

  it.each(['api', 'controller', 'egress'])(
    'spreads replicas of %s, each revision by itself, and replaces those of a lost node soon',
    async (role) => {
      const find = await objects(...TRIAL, '--set', `${role}.tolerations[0].key=mine,${role}.tolerations[0].operator=Exists`);
      const { topologySpreadConstraints, tolerations } = find('Deployment', `filemill-${role}`)['spec'].template.spec;
      for (const constraint of topologySpreadConstraints) {
        expect(constraint.labelSelector.matchLabels['app.kubernetes.io/component']).toBe(role);
        // Otherwise pods of the revision that goes count as well, and all new ones may come to be on one node.
        expect(constraint.matchLabelKeys).toEqual(['pod-template-hash']);
      }
      expect(topologySpreadConstraints).toHaveLength(2);
      const lost = ['not-ready', 'unreachable'].map((taint) => ({
        key: `node.kubernetes.io/${taint}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 30,
      }));
      expect(tolerations).toEqual([...lost, { key: 'mine', operator: 'Exists' }]);
    },
  );

  it('writes settings that the roles take', async () => {
    const find = await objects(...TRIAL);
    for (const name of ['filemill', 'filemill-worker']) {
      const path = writeIn(`${name}.yaml`, find('ConfigMap', name)['data']['filemill.yaml']);
      expect(() => loadConfig({ CONFIG_FILE: path })).not.toThrow();
    }
  });

  it('gives each NATS user of a trial the rights of its role, and no others', async () => {
    const find = await objects(...TRIAL);
    const config: string = find('Secret', 'filemill-nats-config')['stringData']['nats.conf'];
    const rights = new Map(
      [...config.matchAll(/\{ user: (\S+), password: "\w{32}", permissions: (\{.*\}) \}/g)].map(([, user, json]) => [
        user,
        JSON.parse(json ?? ''),
      ]),
    );
    expect([...rights.keys()].sort()).toEqual(['api', 'controller', ...[...toolchains, 'ai-cuda'].map((pool) => `worker-${pool}`)].sort());
    expect(rights.get('controller')).toEqual(controllerPermissions);
    for (const pool of toolchains) expect(rights.get(`worker-${pool}`)).toEqual(workerPermissions(pool));
  });

  it("keeps the bucket's keys and the secret from workers, and a token from every role but the controller", async () => {
    const find = await objects(...TRIAL);
    for (const name of toolchains)
      expect(JSON.stringify(find('ToolchainPool', name)['spec'])).not.toMatch(/S3_|SECRET_KEY|filemill-keys|"filemill-minio"/);
    for (const name of ['api', 'egress'])
      expect(find('Deployment', `filemill-${name}`)['spec'].template.spec.automountServiceAccountToken).toBe(false);
  });

  it('adds certificates and egress to what a pool says of its pods itself', async () => {
    const template = { spec: { containers: [{ name: 'worker', env: [{ name: 'LOG_LEVEL', value: 'debug' }] }] } };
    const values = valuesIn({ pools: { pages: { enabled: true, spec: { toolchain: 'web', template } } } });
    const pool = (await objects(...TRIAL, ...values))('ToolchainPool', 'pages');
    expect(pool['spec'].image).toBe('localhost/filemill/web:0.1.0');
    expect(pool['spec'].template.spec.containers[0].env.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['NATS_CA', 'NODE_EXTRA_CA_CERTS', 'EGRESS_URL', 'EGRESS_TOKEN', 'LOG_LEVEL']),
    );
  });

  it('gives the Service a port on each node only where its type has one', async () => {
    const portOf = async (type: string) => {
      const find = await objects(...TRIAL, '--set', `service.type=${type}`, '--set', 'service.nodePort=30080');
      return find('Service', 'filemill')['spec'].ports[0].nodePort;
    };
    expect([await portOf('ClusterIP'), await portOf('NodePort')]).toEqual([undefined, 30_080]);
  });

  it('leaves capacity to operators and autoscalers, unless a value sets it', async () => {
    expect((await objects(...PRODUCTION))('ToolchainPool', 'media')['spec']).not.toHaveProperty('capacity');
    const said = await objects(...PRODUCTION, '--set', 'pools.media.spec.capacity=40');
    expect(said('ToolchainPool', 'media')['spec'].capacity).toBe(40);
  });

  it('lets workers reach names, NATS and the object store only, and those of pages egress too', async () => {
    const find = await objects(...TRIAL);
    const ports = ({ spec }: Manifest) =>
      spec.egress.flatMap(({ ports: open = [] }: { ports?: { port: number }[] }) => open.map(({ port }) => port));
    expect(ports(find('NetworkPolicy', 'filemill-worker'))).toEqual([53, 53, 4222, 9000]);
    expect(ports(find('NetworkPolicy', 'filemill-pages-web'))).toEqual([8081]);
    expect(find('NetworkPolicy', 'filemill-deny')['spec']).toEqual({
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'filemill' } },
      policyTypes: ['Ingress', 'Egress'],
    });
  });

  it.each([
    ['its addresses', ['--set', 's3.cidrs={198.51.100.0/24}'], [{ ipBlock: { cidr: '198.51.100.0/24' } }]],
    [
      'its endpoint, where that is an address',
      ['--set', 's3.cidrs=null,s3.endpoint=https://192.0.2.7:9000'],
      [{ ipBlock: { cidr: '192.0.2.7/32' } }],
    ],
    ['the same with IPv6', ['--set', 's3.cidrs=null,s3.endpoint=https://[2001:db8::7]:9000'], [{ ipBlock: { cidr: '2001:db8::7/128' } }]],
    [
      'its pods',
      ['--set', 's3.cidrs=null,networkPolicy.s3To[0].namespaceSelector.matchLabels.name=storage'],
      [{ namespaceSelector: { matchLabels: { name: 'storage' } } }],
    ],
  ])('lets workers reach the object store by %s, and nothing more on its port', async (_, args, peers) => {
    const { spec } = (await objects(...PRODUCTION, ...args))('NetworkPolicy', 'filemill-worker');
    const rules = spec.egress.filter(({ ports }: { ports: { port: number }[] }) => ports.some(({ port }) => port === 443));
    expect(rules).toEqual([{ ports: [{ protocol: 'TCP', port: 443 }], to: peers }]);
  });

  it.each([
    ['53 only', [], [53, 53]],
    ['where OpenShift resolves them, too', ['--api-versions', 'security.openshift.io/v1'], [53, 53, 5353, 5353]],
    ['what its values say', ['--set', 'networkPolicy.dnsPorts={1053}'], [1053, 1053]],
  ])('lets all resolve names at %s', async (_, args, ports) => {
    const find = await objects(...PRODUCTION, ...args);
    for (const role of ['api', 'worker', 'controller', 'egress'])
      expect(find('NetworkPolicy', `filemill-${role}`)['spec'].egress[0].ports.map(({ port }: { port: number }) => port)).toEqual(ports);
  });

  it('lets API and egress reach what its values add, and no other role', async () => {
    const rule = (cidr: string) => ({ ports: [{ protocol: 'TCP', port: 80 }], to: [{ ipBlock: { cidr } }] });
    const [metadata, store] = [rule('169.254.169.254/32'), rule('10.0.0.7/32')];
    const find = await objects(...PRODUCTION, ...valuesIn({ networkPolicy: { apiRules: [metadata], egressRules: [store] } }));
    const has = (role: string, wanted: object) =>
      find('NetworkPolicy', `filemill-${role}`)['spec'].egress.some((one: object) => isDeepStrictEqual(one, wanted));
    const roles = ['api', 'worker', 'controller', 'egress'];
    expect([roles.filter((role) => has(role, metadata)), roles.filter((role) => has(role, store))]).toEqual([['api'], ['egress']]);
  });

  it('replaces workers when their settings change, and not when those of the API do', async () => {
    const annotationsOf = async (...args: string[]) =>
      (await objects(...PRODUCTION, ...args))('ToolchainPool', 'image')['spec'].template?.metadata?.annotations?.['filemill.io/config'];
    const set = (value: string) => annotationsOf('--set', value);
    expect([await annotationsOf(), await set('config.api.syncWaitMs=1')]).toEqual([undefined, undefined]);
    const [debug, trace] = [await set('config.log.level=debug'), await set('config.log.level=trace')];
    expect([typeof debug, typeof trace, debug === trace]).toEqual(['string', 'string', false]);
  });

  it('has the metrics of each role on a port that neither Ingress nor HTTPRoute reaches', async () => {
    const monitoring = [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }];
    const enabled = ['ingress.enabled', 'httpRoute.enabled', 'metrics.serviceMonitor.enabled', 'metrics.podMonitor.enabled'];
    const find = await objects(
      ...PRODUCTION,
      ...enabled.flatMap((value) => ['--set', `${value}=true`]),
      ...valuesIn({
        httpRoute: { parentRefs: [{ name: 'files' }] },
        networkPolicy: { metricsFrom: monitoring, apiFrom: [{ podSelector: {} }] },
      }),
    );
    const portOf = (role: string) =>
      find('Deployment', `filemill-${role}`)['spec'].template.spec.containers[0].ports.find(
        ({ name }: { name: string }) => name === 'metrics',
      ).containerPort;
    expect(['api', 'controller', 'egress'].map(portOf)).toEqual([9_090, 9_090, 9_090]);
    const template = templateOf(ToolchainPool.parse(find('ToolchainPool', 'image')), []).pod as {
      spec: { containers: { ports: object[] }[] };
    };
    expect(template.spec.containers[0]?.ports).toEqual([{ name: 'metrics', containerPort: 9_090 }]);
    // What strangers reach: the Service of the Ingress, the HTTPRoute and a balancer.
    expect(find('Service', 'filemill')['spec'].ports.map(({ targetPort }: { targetPort: string }) => targetPort)).toEqual(['http']);
    expect(find('Ingress', 'filemill')['spec'].rules[0].http.paths.map(({ backend }: { backend: object }) => backend)).toEqual([
      { service: { name: 'filemill', port: { name: 'http' } } },
    ]);
    expect(find('HTTPRoute', 'filemill')['spec'].rules[0].backendRefs).toEqual([{ name: 'filemill', port: 80 }]);
    // What Prometheus reaches.
    expect(find('ServiceMonitor', 'filemill')['spec'].endpoints).toEqual([{ port: 'metrics', path: '/metrics', interval: '30s' }]);
    expect(find('PodMonitor', 'filemill')['spec'].podMetricsEndpoints).toEqual([{ port: 'metrics', path: '/metrics', interval: '30s' }]);
    for (const name of ['filemill-metrics', 'filemill-egress'])
      expect(find('Service', name)['spec'].ports).toContainEqual({ name: 'metrics', port: 9_090, targetPort: 'metrics' });
    for (const role of ['api', 'controller', 'egress', 'worker'])
      expect(
        find('NetworkPolicy', `filemill-${role}`)['spec'].ingress.filter(({ from }: { from: object }) =>
          isDeepStrictEqual(from, monitoring),
        ),
      ).toEqual([{ ports: [{ protocol: 'TCP', port: 9_090 }], from: monitoring }]);
    const settings = loadConfig({ CONFIG_FILE: writeIn('metrics.yaml', find('ConfigMap', 'filemill')['data']['filemill.yaml']) });
    expect([settings.api.metricsPort, settings.api.metricsHost, settings.controller.probesPort]).toEqual([9_090, '0.0.0.0', 9_090]);
    const { env } = find('Deployment', 'filemill-egress')['spec'].template.spec.containers[0];
    expect(loadConfig({ SETTINGS: env.find(({ name }: { name: string }) => name === 'SETTINGS').value }).egress.metricsPort).toBe(9_090);
  });

  it('has the version of the project', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(readFileSync(`${CHART}/Chart.yaml`, 'utf8')).toContain(`\nappVersion: ${version}\n`);
  });

  it('renders extraObjects with the values of the release', async () => {
    const extra = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-more' } };
    expect((await objects(...PRODUCTION, ...valuesIn({ extraObjects: [extra] })))('ConfigMap', 'filemill-more')).toBeDefined();
  });
});

describe('a real API server', () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startKubernetes({ without: ['controllers', 'scheduler', 'kwok'] });
    const applied = await cluster.kubectl(['apply', '--server-side', `--filename=${CHART}/crds`]);
    expect(applied).toMatchObject({ code: 0 });
    await cluster.kubectl(['create', 'namespace', 'filemill']);
    await cluster.kubectl(['label', 'namespace', 'filemill', 'pod-security.kubernetes.io/warn=restricted']);
  });
  afterAll(() => cluster.stop());

  it.each([
    ['for a trial', TRIAL],
    ['with NATS and a bucket that exist', PRODUCTION],
    ['with all that can be enabled', [...TRIAL, ...ALL]],
  ])('takes every object %s, and none is more than `restricted` allows', async (_, values) => {
    const path = writeIn('objects.yaml', await rendered(...values, '--no-hooks'));
    const { code, stdout, stderr } = await cluster.kubectl([
      'apply',
      '--server-side',
      '--dry-run=server',
      '--force-conflicts',
      '--filename',
      path,
    ]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout.split('\n').filter((line) => line.endsWith('serverside-applied (server dry run)')).length).toBeGreaterThan(25);
  });

  it('takes manifests/install.yaml', async () => {
    const { code, stderr } = await cluster.kubectl(['apply', '--server-side', '--dry-run=server', '--filename=manifests/install.yaml']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('takes the definitions as the Job before an upgrade applies them', async () => {
    const job = (await objects(...TRIAL, '--show-only', 'templates/crds.yaml'))('ConfigMap', 'filemill-crds');
    const names = Object.keys(job['data']).filter((name) => name.endsWith('.yaml'));
    expect(names).toEqual(['conversionjobs.filemill.io.yaml', 'toolchainpools.filemill.io.yaml']);
    for (const name of names) expect(job['data'][name].trim()).toBe(readFileSync(`manifests/crds/${name}`, 'utf8').trim());
  });
});
