/** The chart by Helm 3, where Helm 4 has removed its release: the same objects, and a release that converts. */

import { parseAllDocuments } from 'yaml';
import { toolchains } from '../../src/contracts/toolchains.ts';
import { kubectl, program, VALUES } from './cluster.ts';
import { eventually, must, step } from './steps.ts';

const NAMESPACE = 'filemill-3';
const helm3 = (...args: readonly string[]) => program('.cache/bin/helm3', [...args, '--namespace', NAMESPACE]);
/** One pool is enough. */
const FEW = toolchains.filter((pool) => pool !== 'image').flatMap((pool) => ['--set', `pools.${pool}.enabled=false`]);

/** In any order: the two sort kinds differently. */
async function objectsBy(helm: string): Promise<string> {
  // Asked of no cluster, each would guess another version of Kubernetes.
  const values = [
    '--kube-version',
    '1.36.2',
    '--values',
    'manifests/install-values.yaml',
    '--set',
    'ingress.enabled=true',
    '--set',
    'api.autoscaling.enabled=true',
  ];
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
    // Without --logs: Helm 3 asks for them when it has deleted the pod.
    const tested = await helm3('test', 'filemill', '--timeout', '2m');
    await helm3('uninstall', 'filemill', '--wait', '--timeout', '2m');
    // Its --wait does not wait for what Kubernetes deletes after their owners.
    await eventually(
      'an empty namespace',
      () => kubectl('get', 'all,toolchainpools', '--namespace', NAMESPACE, '-o', 'name'),
      (left) => left === '',
      120_000,
    );
    await kubectl('delete', 'namespace', NAMESPACE, '--timeout=60s');
    must(/Phase:\s+Succeeded/.test(tested), `its test: ${tested}`);
    return undefined;
  });
}
