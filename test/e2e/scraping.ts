/** Metrics: those of every role from Prometheus' namespace, and none from outside or from another namespace. */
import { base, imageOf, inNamespace, kubectl, stayingPods } from './cluster.ts';
import { must, step } from './steps.ts';

/** As test/e2e/values.yaml lets it in. */
const PROMETHEUS = 'monitoring';
const OTHER = 'elsewhere';
const ROLES = ['api', 'controller', 'egress', 'worker'];

/** Asks each `role=host`, and says which answer with metrics. */
const ASK = `Promise.all(process.argv.slice(1).map(async (at) => {
  const [role, host] = at.split('=');
  const text = await fetch('http://' + host + ':9090/metrics', { signal: AbortSignal.timeout(5000) }).then((answer) => answer.text(), () => '');
  return role + ' ' + (text.includes('# HELP filemill_') ? 'answers' : 'is silent');
})).then((all) => console.log(all.join(', ')));`;

/** @returns what a pod of this namespace is told */
async function askFrom(namespace: string, targets: readonly string[]): Promise<string> {
  await kubectl('create', 'namespace', namespace);
  const forever = ['--command', '--', 'node', '--eval', 'setInterval(() => {}, 60000)'];
  await kubectl('run', 'asker', `--namespace=${namespace}`, `--image=${imageOf('app')}`, '--restart=Never', ...forever);
  await kubectl('wait', 'pod/asker', `--namespace=${namespace}`, '--for=condition=Ready', '--timeout=60s');
  const told = await kubectl('exec', 'asker', `--namespace=${namespace}`, '--', 'node', '--eval', ASK, ...targets);
  await kubectl('delete', 'namespace', namespace, '--wait=false');
  return told.trim();
}

export async function scrape(): Promise<void> {
  await step("metrics, from Prometheus' namespace, from another one, and from outside", async () => {
    const targets = await Promise.all(
      ROLES.map(async (role) => {
        const [pod = ''] = await stayingPods(`app.kubernetes.io/component=${role}`);
        return `${role}=${await inNamespace('get', 'pod', pod, '-o', 'jsonpath={.status.podIP}')}`;
      }),
    );
    const services = ['filemill-metrics', 'filemill-egress'].map((name) => `${name}=${name}.filemill.svc.cluster.local`);
    const all = [...targets, ...services];
    const [inside, elsewhere] = await Promise.all([PROMETHEUS, OTHER].map((namespace) => askFrom(namespace, all)));
    const everybody = (does: string) => all.map((at) => `${at.split('=')[0]} ${does}`).join(', ');
    must(inside === everybody('answers'), `Prometheus is told: ${inside}`);
    must(elsewhere === everybody('is silent'), `another namespace is told: ${elsewhere}`);
    const { status } = await fetch(`${base}/metrics`, { signal: AbortSignal.timeout(10_000) });
    must(status === 404, `the port of the API answers ${status} to /metrics`);
    return `${all.length} answer, and to Prometheus alone`;
  });
}
