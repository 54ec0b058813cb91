/** Kubernetes' own autoscaler moves a pool's capacity by a metric of demand, which this test serves as an adapter would. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { until } from '../kit/kube/until.ts';

const METRICS = 'external.metrics.k8s.io/v1beta1';

let cluster: Cluster;
let adapter: Server;
/** Conversions that wait or run, and what the autoscaler asked for last. */
let orders = 0;
let asked: URL | undefined;

async function kubectl(args: readonly string[], input?: object): Promise<string> {
  const { code, stdout, stderr } = await cluster.kubectl(args, input === undefined ? undefined : JSON.stringify(input));
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

const apply = (file: string) => kubectl(['apply', '--server-side', `--filename=manifests/${file}`]);
const capacity = async () => Number(await kubectl(['get', 'tp/web', '--output=jsonpath={.spec.capacity}']));
const reaches = (wanted: number) => until(`a capacity of ${wanted}`, async () => (await capacity()) === wanted);

/** Two answers are all that an autoscaler needs of the metrics API. */
function answer(path: URL): object {
  if (!path.pathname.includes('/namespaces/')) {
    const resource = { name: 'filemill_pool_orders', singularName: '', namespaced: true, kind: 'ExternalMetricValueList', verbs: ['get'] };
    return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: METRICS, resources: [resource] };
  }
  asked = path;
  const item = { metricName: 'filemill_pool_orders', metricLabels: {}, timestamp: new Date().toISOString(), value: String(orders) };
  return { kind: 'ExternalMetricValueList', apiVersion: METRICS, metadata: {}, items: [item] };
}

beforeAll(async () => {
  cluster = await startKubernetes({ without: ['scheduler', 'kwok'] });
  // No client checks it: any certificate will do.
  const certificates = join(dirname(cluster.kubeconfig), 'certificates');
  const [cert, key] = ['crt', 'key'].map((end) => readFileSync(join(certificates, `apiserver.${end}`)));
  adapter = createServer({ cert, key }, (request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer(new URL(request.url ?? '/', 'https://adapter'))));
  }).listen(0, '127.0.0.1');
  await once(adapter, 'listening');
  const { port } = adapter.address() as AddressInfo;
  await apply('crds');
  await kubectl(['apply', '--filename=-'], {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'metrics-adapter' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  });
  await kubectl(['apply', '--filename=-'], {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'v1beta1.external.metrics.k8s.io' },
    spec: {
      group: 'external.metrics.k8s.io',
      version: 'v1beta1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
      service: { name: 'metrics-adapter', namespace: 'default', port },
    },
  });
  await kubectl(['wait', '--for=condition=Available', '--timeout=60s', 'apiservice/v1beta1.external.metrics.k8s.io']);
  await until('pools to be served', async () => (await cluster.kubectl(['get', 'tp'])).code === 0);
  await apply('examples/pools/web.yaml');
  // As the controller says it: without a selector of pods the autoscaler does nothing.
  const status = { workers: 0, selector: 'filemill.io/pool=web' };
  await kubectl(['patch', 'tp/web', '--subresource=status', '--type=merge', `--patch=${JSON.stringify({ status })}`]);
});

afterAll(async () => {
  await cluster.stop();
  adapter.close();
});

describe('an HPA on a ToolchainPool', () => {
  it('sets its capacity by what waits and runs', async () => {
    orders = 12;
    await apply('examples/autoscaling/web.yaml');
    // The example is slow to go down, which a test need not be.
    const patch = { spec: { behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } } };
    await kubectl(['patch', 'hpa/web', '--type=merge', `--patch=${JSON.stringify(patch)}`]);
    // The controllers look for new kinds each half minute.
    await reaches(6);
    expect(asked?.pathname).toBe(`/apis/${METRICS}/namespaces/default/filemill_pool_orders`);
    expect(asked?.searchParams.get('labelSelector')).toBe('pool=web');
  });

  it('follows the load up, and down to its own lower bound', async () => {
    orders = 20;
    await reaches(10);
    orders = 0;
    await reaches(2);
  });

  it('keeps the capacity when the pool is applied again', async () => {
    orders = 10;
    await reaches(5);
    await apply('examples/pools/web.yaml');
    expect(await capacity()).toBe(5);
  });

  it('leaves a drained pool alone until the operator scales it up', async () => {
    await kubectl(['scale', 'tp/web', '--replicas=0']);
    const reason = '--output=jsonpath={.status.conditions[?(@.type=="ScalingActive")].reason}';
    await until('the autoscaler to stand aside', async () => (await kubectl(['get', 'hpa/web', reason])) === 'ScalingDisabled');
    expect(await capacity()).toBe(0);
    await kubectl(['scale', 'tp/web', '--replicas=1']);
    await reaches(5);
  });
});
