/**
 * Autoscalers set the capacity of a pool by the recipes of the docs: KEDA, and Kubernetes' own with prometheus-adapter, each installed by the
 * objects of its project. Both ask a Prometheus, which scrapes the controllers.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { send } from './client.ts';
import { base, checkout, cluster, inNamespace, kubectl, NAMESPACE, program, stayingPods } from './cluster.ts';
import { blobOf, type E2eFiles } from './files.ts';
import { eventually, must, step } from './steps.ts';

const MONITORING = 'monitoring';
const ADAPTER = 'prometheus-adapter';
const IMAGES = [
  'docker.io/prom/prometheus:v3',
  'ghcr.io/kedacore/keda:main',
  'ghcr.io/kedacore/keda-metrics-apiserver:main',
  'registry.k8s.io/prometheus-adapter/prometheus-adapter:v0.12.0',
];
const RECIPES = 'manifests/examples/autoscaling';
const METRICS_API = 'v1beta1.external.metrics.k8s.io';
const POOL = 'media';
/** By the recipe. */
const LEAST = 2;
const AT_NIGHT = 40;
/** Conversions for each worker. */
const FOR_EACH = 2;
const JOBS = 8;

interface Trigger {
  readonly type: string;
  readonly metadata: Readonly<Record<string, string>>;
}
interface ScaledObject {
  readonly spec: { readonly triggers: readonly Trigger[]; readonly [more: string]: unknown };
  readonly [more: string]: unknown;
}
interface Container {
  imagePullPolicy?: string;
  command?: readonly string[];
  args: string[];
}
interface Deployment {
  readonly kind: string;
  readonly spec: { replicas?: number; readonly template: { readonly spec: { readonly containers: Container[] } } };
}

const apply = (yaml: string, ...more: readonly string[]) =>
  program('.cache/bin/kubectl', ['apply', '--server-side', '--force-conflicts', '-f', '-', ...more], 120_000, yaml);
const available = (namespace: string, name: string) =>
  kubectl('rollout', 'status', `deployment/${name}`, `--namespace=${namespace}`, '--timeout=110s');

/** Applies KEDA's own objects. Only the pull policy differs: the nodes have the images. */
async function installKeda(): Promise<void> {
  const objects = parseAllDocuments(await readFile(join(checkout, '.cache/bin/keda.yaml'), 'utf8')).map((one) => one.toJS() as Deployment);
  for (const { kind, spec } of objects)
    if (kind === 'Deployment') for (const container of spec.template.spec.containers) container.imagePullPolicy = 'Never';
  await apply(objects.map((one) => stringify(one)).join('---\n'));
  for (const name of ['keda-operator', 'keda-metrics-apiserver']) await available('keda', name);
  await metricsAreServed();
}

const metricsAreServed = () =>
  eventually(
    'the API of external metrics',
    () => kubectl('get', 'apiservice', METRICS_API, '-o', 'jsonpath={.status.conditions[0].status}'),
    (status) => status === 'True',
    120_000,
  );

/** Its objects that serve metrics of pods and nodes, or that need more than one node. */
const UNUSED = new Set(['APIService', 'NetworkPolicy', 'PodDisruptionBudget', 'HorizontalPodAutoscaler']);

/** The adapter's own objects, with the rule of the recipe, which its chart writes into the file as here. */
async function installAdapter(): Promise<void> {
  const folder = join(checkout, `.cache/bin/${ADAPTER}-manifests`);
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));
  const objects = texts.flatMap((text) => parseAllDocuments(text).map((one) => one.toJS() as Deployment));
  for (const { kind, spec } of objects) {
    if (kind !== 'Deployment') continue;
    spec.replicas = 1;
    for (const container of spec.template.spec.containers) {
      container.imagePullPolicy = 'Never';
      container.command = [`/${ADAPTER}`];
      // A later flag counts.
      container.args.push(`--prometheus-url=http://prometheus.${MONITORING}.svc:9090/`, '--metrics-relist-interval=5s');
    }
  }
  const { rules } = parse(await readFile(join(checkout, RECIPES, 'prometheus-adapter.yaml'), 'utf8')) as {
    readonly rules: { readonly external: readonly unknown[] };
  };
  const config = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'adapter-config', namespace: MONITORING },
    data: { 'config.yaml': stringify({ externalRules: rules.external }) },
  };
  const [version, ...group] = METRICS_API.split('.');
  const api = {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: METRICS_API },
    spec: {
      ...{ group: group.join('.'), version, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true },
      service: { name: ADAPTER, namespace: MONITORING },
    },
  };
  const used = objects.filter(({ kind }) => !UNUSED.has(kind) && kind !== 'ConfigMap');
  await apply([...used, config, api].map((one) => stringify(one)).join('---\n'));
  await available(MONITORING, ADAPTER);
  await metricsAreServed();
}

async function startPrometheus(): Promise<void> {
  await kubectl('create', 'namespace', MONITORING).catch(() => {});
  const pods = await stayingPods('app.kubernetes.io/component=controller');
  const addresses = await Promise.all(pods.map((pod) => inNamespace('get', 'pod', pod, '-o', 'jsonpath={.status.podIP}')));
  const objects = await readFile(join(checkout, 'test/e2e/prometheus.yaml'), 'utf8');
  await apply(objects.replace('CONTROLLERS', addresses.map((address) => `"${address}:9090"`).join()));
  await available(MONITORING, 'prometheus');
}

/** As the recipe says, but that it goes down at once, and that it is night now, or not for another hour. */
async function applyKeda(isNight: boolean): Promise<void> {
  const recipe = parse(await readFile(join(checkout, RECIPES, 'keda.yaml'), 'utf8')) as ScaledObject;
  const at = (hours: number) => `0 ${(new Date().getUTCHours() + 24 + hours) % 24} * * *`;
  const [start, end] = isNight ? [at(0), at(2)] : [at(2), at(4)];
  const triggers = recipe.spec.triggers.map((trigger) =>
    trigger.type === 'cron' ? { ...trigger, metadata: { ...trigger.metadata, start, end } } : trigger,
  );
  const advanced = { horizontalPodAutoscalerConfig: { behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } } };
  await apply(stringify({ ...recipe, spec: { ...recipe.spec, triggers, advanced, pollingInterval: 2 } }), `--namespace=${NAMESPACE}`);
}

/** As the recipe says, for this pool, but that it goes down at once. */
async function applyAutoscaler(): Promise<void> {
  const recipe = (await readFile(join(checkout, RECIPES, 'web.yaml'), 'utf8')).replace(/\bweb$/gm, POOL);
  await apply(recipe.replace(/(stabilizationWindowSeconds:) 300/, '$1 0'), `--namespace=${NAMESPACE}`);
}

const numberAt = async (path: string): Promise<number> => Number(await inNamespace('get', 'tp', POOL, '-o', `jsonpath={${path}}`));
const capacity = () => numberAt('.spec.capacity');
const reaches = (wanted: number) => eventually(`a capacity of ${wanted}`, capacity, (found) => found === wanted, 180_000);

/** @param apply the recipe */
async function followDemand(files: E2eFiles, apply: () => Promise<void>): Promise<void> {
  await step('without work the capacity is the least of the recipe', async () => {
    await apply();
    await reaches(LEAST);
    return `${LEAST}`;
  });
  await step(`${JOBS} conversions raise it, and it stays while they run`, async () => {
    const [content, name] = await blobOf(files.long, 'long.mp4');
    const sent = await Promise.all(
      Array.from({ length: JOBS }, () => send(base, '/api/v1/convert', [['file', content, name]], { to_format: 'webm' })),
    );
    await reaches(JOBS / FOR_EACH);
    let over = false;
    let least = Number.POSITIVE_INFINITY;
    const watched = (async () => {
      while (!over) {
        // Capacity first: what ends between the two questions does not count.
        const [allowed, busy] = [await capacity(), await numberAt('.status.busy')];
        if (busy > 0) least = Math.min(least, allowed / busy);
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    })();
    const ends = await Promise.all(sent.map(({ ended }) => ended()));
    over = true;
    await watched;
    must(
      ends.every(({ status }) => status === 'done'),
      `of ${JOBS} jobs ${ends.filter(({ status }) => status !== 'done').length} failed`,
    );
    must(least >= 1 / FOR_EACH, `the capacity fell to ${least} for each busy worker`);
    await reaches(LEAST);
    return `${JOBS / FOR_EACH}, never below what ran; then ${LEAST} again`;
  });
}

const versionOf = async (program: string): Promise<string> =>
  (await readFile(join(checkout, `.cache/bin/.${program}.built`), 'utf8')).trim();

export async function autoscale(files: E2eFiles): Promise<void> {
  await step('KEDA and Prometheus', async () => {
    await cluster('load', ...IMAGES);
    await Promise.all([startPrometheus(), installKeda()]);
    return versionOf('keda');
  });
  try {
    await followDemand(files, () => applyKeda(false));
    await step('at night it is that of the night', async () => {
      await applyKeda(true);
      await reaches(AT_NIGHT);
      return `${AT_NIGHT}`;
    });
    await removeKeda();
    await step("prometheus-adapter in KEDA's place", async () => {
      await installAdapter();
      return versionOf(ADAPTER);
    });
    await followDemand(files, applyAutoscaler);
  } finally {
    await inNamespace('delete', 'hpa', POOL, '--ignore-not-found').catch(() => {});
    await removeKeda();
    await kubectl('delete', 'apiservice', METRICS_API, '--ignore-not-found').catch(() => {});
    await kubectl('delete', 'namespace', MONITORING, '--wait=false').catch(() => {});
    await inNamespace('patch', 'tp', POOL, '--type=merge', '--patch={"spec":{"capacity":null}}');
  }
}

/** Serves external metrics no more: one program in a cluster can. */
async function removeKeda(): Promise<void> {
  await inNamespace('delete', 'scaledobject', POOL, '--ignore-not-found', '--timeout=60s').catch(() => {});
  await program(
    '.cache/bin/kubectl',
    ['delete', '--ignore-not-found', '--wait=false', '-f', join(checkout, '.cache/bin/keda.yaml')],
    120_000,
  ).catch(() => {});
}
