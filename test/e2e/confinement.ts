/** What the pods may do, seen from inside. */
import { inNamespace } from './cluster.ts';
import { must, step } from './steps.ts';

export async function confine(): Promise<void> {
  await step('what a worker may do', async () => {
    const pod = (
      await inNamespace(
        'get',
        'pods',
        '-l',
        'filemill.io/pool=image',
        '--field-selector=status.phase=Running',
        '-o',
        'jsonpath={.items[0].metadata.name}',
      )
    ).trim();
    const inside = (script: string) => inNamespace('exec', pod, '--', 'sh', '-c', script);
    must((await inside('ls /var/run/secrets/kubernetes.io 2>/dev/null || echo none')).trim() === 'none', 'a worker has a token');
    must((await inside('(echo x > /usr/x) 2>/dev/null || echo refused')).trim() === 'refused', 'its root can be written to');
    must((await inside('grep CapEff /proc/1/status')).includes('0000000000000000'), 'it has capabilities');
    must((await inside('grep Seccomp: /proc/1/status')).includes('2'), 'it has no seccomp filter');
    must((await inside('id -u')).trim() === '10001', 'it is another user');
    return 'no token, no capability, a read-only root, seccomp';
  });
}
