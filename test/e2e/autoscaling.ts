/** KEDA, as its project installs it, sets the capacity of a pool by the recipe of the docs. It asks a Prometheus, which scrapes the controllers. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { send } from './client.ts';
import { base, checkout, cluster, inNamespace, kubectl, NAMESPACE, program, stayingPods } from './cluster.ts';
import { blobOf, type E2eFiles } from './files.ts';
import { eventually, must, step } from './steps.ts';

const MONITORING = 'monitoring';
const IMAGES = ['docker.io/prom/prometheus:v3', 'ghcr.io/kedacore/keda:main', 'ghcr.io/kedacore/keda-metrics-apiserver:main'];
const RECIPE = 'manifests/examples/autoscaling/keda.yaml';
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
interface Deployment {
  readonly kind: string;
  readonly spec: { readonly template: { readonly spec: { readonly containers: { imagePullPolicy?: string }[] } } };
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
  const condition = ['get', 'apiservice', 'v1beta1.external.metrics.k8s.io', '-o', 'jsonpath={.status.conditions[0].status}'];
  await eventually(
    'the API of its metrics',
    () => kubectl(...condition),
    (status) => status === 'True',
    120_000,
  );
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
async function applyRecipe(isNight: boolean): Promise<void> {
  const recipe = parse(await readFile(join(checkout, RECIPE), 'utf8')) as ScaledObject;
  const at = (hours: number) => `0 ${(new Date().getUTCHours() + 24 + hours) % 24} * * *`;
  const [start, end] = isNight ? [at(0), at(2)] : [at(2), at(4)];
  const triggers = recipe.spec.triggers.map((trigger) =>
    trigger.type === 'cron' ? { ...trigger, metadata: { ...trigger.metadata, start, end } } : trigger,
  );
  const advanced = { horizontalPodAutoscalerConfig: { behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } } };
  await apply(stringify({ ...recipe, spec: { ...recipe.spec, triggers, advanced, pollingInterval: 2 } }), `--namespace=${NAMESPACE}`);
}

const numberAt = async (path: string): Promise<number> => Number(await inNamespace('get', 'tp', POOL, '-o', `jsonpath={${path}}`));
const capacity = () => numberAt('.spec.capacity');
const reaches = (wanted: number) => eventually(`a capacity of ${wanted}`, capacity, (found) => found === wanted, 180_000);

export async function autoscale(files: E2eFiles): Promise<void> {
  await step('KEDA and Prometheus', async () => {
    await cluster('load', ...IMAGES);
    await Promise.all([startPrometheus(), installKeda()]);
    return (await readFile(join(checkout, '.cache/bin/.keda.built'), 'utf8')).trim();
  });
  try {
    await step('without work the capacity is the least of the recipe', async () => {
      await applyRecipe(false);
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
    await step('at night it is that of the night', async () => {
      await applyRecipe(true);
      await reaches(AT_NIGHT);
      return `${AT_NIGHT}`;
    });
  } finally {
    await inNamespace('delete', 'scaledobject', POOL, '--timeout=60s').catch(() => {});
    await program('.cache/bin/kubectl', ['delete', '--wait=false', '-f', join(checkout, '.cache/bin/keda.yaml')], 120_000).catch(() => {});
    await kubectl('delete', 'namespace', MONITORING, '--wait=false').catch(() => {});
    await inNamespace('patch', 'tp', POOL, '--type=merge', '--patch={"spec":{"capacity":null}}');
  }
}
