/** What `helm uninstall` leaves: the definitions, and nothing else. */
import { helm, inNamespace, kubectl, NAMESPACE } from './cluster.ts';
import { eventually, must, step } from './steps.ts';

export async function uninstall(): Promise<void> {
  await step('helm uninstall', async () => {
    await helm('uninstall', 'filemill', '--wait', '--timeout', '2m');
    const kinds =
      'all,configmaps,secrets,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets,toolchainpools,persistentvolumeclaims';
    const left = () =>
      inNamespace('get', kinds, '-o', 'name').then((names) =>
        names.split('\n').filter((name) => !/^$|kube-root-ca|serviceaccount\/default$/.test(name)),
      );
    await eventually('an empty namespace', left, (names) => names.length === 0, 120_000);
    must(
      (await kubectl('get', 'crd', '-o', 'name')).split('\n').filter((name) => name.includes('filemill.io')).length === 2,
      'the definitions are gone',
    );
    const wide = await kubectl(
      'get',
      'clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings',
      '-o',
      'name',
    );
    must(!wide.includes('filemill'), `it left ${wide.split('\n').filter((name) => name.includes('filemill'))}`);
    await kubectl('delete', 'namespace', NAMESPACE, '--timeout=60s');
    return 'the definitions stay, nothing else';
  });
}
