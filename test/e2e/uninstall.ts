/** What `helm uninstall` leaves: the definitions and the secret key. And a namespace that is deleted with its release in it. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toolchains } from '../../src/contracts/toolchains.ts';
import { helm, inNamespace, kubectl, NAMESPACE, VALUES } from './cluster.ts';
import type { E2eFiles } from './files.ts';
import { eventually, must, step } from './steps.ts';

const KINDS =
  'all,configmaps,secrets,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets,toolchainpools,persistentvolumeclaims';
const WIDE = 'clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings';
/** One pool is enough. */
const FEW = toolchains.filter((pool) => pool !== 'image').flatMap((pool) => ['--set', `pools.${pool}.enabled=false`]);

const keyOf = (key: string) => ({ name: 'none', key });
/** One that ends at once, and one that waits for a Secret. */
const CONVERSIONS = [
  { name: 'ended', source: { key: 'nothing.png' } },
  {
    name: 'waits',
    source: {
      s3: {
        endpoint: 'https://s3.example.org',
        bucket: 'files',
        key: 'a.png',
        accessKeyIDSecretRef: keyOf('id'),
        secretAccessKeySecretRef: keyOf('secret'),
      },
    },
  },
].map(({ name, source }) => ({
  apiVersion: 'filemill.io/v1alpha1',
  kind: 'ConversionJob',
  metadata: { name, namespace: NAMESPACE },
  spec: { source, toFormat: 'webp' },
}));

const secretKey = () => inNamespace('get', 'secret', 'filemill-keys', '-o', 'jsonpath={.data.SECRET_KEY}');

export async function uninstall({ folder }: E2eFiles): Promise<void> {
  let key = '';
  await step('helm uninstall', async () => {
    key = await secretKey();
    await helm('uninstall', 'filemill', '--wait', '--timeout', '2m');
    const left = () =>
      inNamespace('get', KINDS, '-o', 'name').then((names) =>
        names.split('\n').filter((name) => !/^$|kube-root-ca|serviceaccount\/default$|secret\/filemill-keys$/.test(name)),
      );
    await eventually('an empty namespace', left, (names) => names.length === 0, 120_000);
    must(
      (await kubectl('get', 'crd', '-o', 'name')).split('\n').filter((name) => name.includes('filemill.io')).length === 2,
      'the definitions are gone',
    );
    const wide = await kubectl('get', WIDE, '-o', 'name');
    must(!wide.includes('filemill'), `it left ${wide.split('\n').filter((name) => name.includes('filemill'))}`);
    must((await secretKey()) === key, 'the secret key is another');
    return 'the definitions and the secret key stay, nothing else';
  });
  await step('the namespace deleted, with a release and ConversionJobs in it', async () => {
    await helm('install', 'filemill', 'charts/filemill', ...VALUES, ...FEW, '--wait', '--timeout', '4m');
    must((await secretKey()) === key, 'another installation does not take up the secret key');
    const manifest = join(folder, 'conversions.json');
    await writeFile(manifest, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: CONVERSIONS }));
    await kubectl('apply', '--filename', manifest);
    const phases = 'jsonpath={range .items[*]}{.metadata.name} {.status.phase},{end}';
    await eventually(
      'both to be worked on',
      () => inNamespace('get', 'conversionjobs', '-o', phases),
      (found) => found === 'ended Failed,waits Pending,',
      60_000,
    );
    const begun = performance.now();
    await kubectl('delete', 'namespace', NAMESPACE, '--timeout=110s');
    const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
    await kubectl('delete', WIDE, '--selector', 'app.kubernetes.io/name=filemill');
    return `gone after ${seconds} s`;
  });
}
