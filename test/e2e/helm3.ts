/** The chart by Helm 3, where Helm 4 has removed its release: the same objects, and a release that converts. */
import { parseAllDocuments } from 'yaml';
import { kubectl, program, VALUES } from './cluster.ts';
import { must, step } from './steps.ts';

const NAMESPACE = 'filemill-3';
const helm3 = (...args: readonly string[]) => program('.cache/bin/helm3', [...args, '--namespace', NAMESPACE]);
/** One pool is enough. */
const FEW = ['media', 'pdf', 'office', 'web'].flatMap((pool) => ['--set', `pools.${pool}.enabled=false`]);

/** In any order: the two sort kinds differently. */
async function objectsBy(helm: string): Promise<string> {
  const values = ['--values', 'manifests/install-values.yaml', '--set', 'ingress.enabled=true', '--set', 'api.autoscaling.enabled=true'];
  const text = await program(`.cache/bin/${helm}`, ['template', 'filemill', 'charts/filemill', '--include-crds', ...values]);
  return parseAllDocuments(text)
    .map((document) => JSON.stringify(document.toJS()))
    .sort()
    .join('\n');
}

export async function helm3Release(): Promise<void> {
  await step('helm template by Helm 3 and by Helm 4', async () => {
    const [three, four] = [await objectsBy('helm3'), await objectsBy('helm')];
    must(three === four, 'they render different objects');
    return `the same ${three.split('\n').length} objects`;
  });
  await step('install, test and uninstall by Helm 3', async () => {
    await kubectl('create', 'namespace', NAMESPACE);
    await kubectl('label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted');
    await helm3('install', 'filemill', 'charts/filemill', ...VALUES, ...FEW, '--wait', '--timeout', '4m');
    const converted = /converted a PNG.*/.exec(await helm3('test', 'filemill', '--logs', '--timeout', '2m'))?.[0];
    await helm3('uninstall', 'filemill', '--wait', '--timeout', '2m');
    const left = await kubectl('get', 'all,toolchainpools', '--namespace', NAMESPACE, '-o', 'name');
    must(left === '', `it left ${left}`);
    await kubectl('delete', 'namespace', NAMESPACE, '--timeout=60s');
    must(converted !== undefined, 'its test says nothing of a conversion');
    return converted;
  });
}
