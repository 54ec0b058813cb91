/** What the pods may do: as the cluster was told, and as it is seen from inside, by a worker and by a converter in it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { SYSTEM_READS } from '../../src/exec/confine/confine.ts';
import { checkout, environment, inNamespace, kubectl, NAMESPACE, node, program } from './cluster.ts';
import { eventually, must, step } from './steps.ts';

/** By component. A row that changes is a change of what a pod may do: it is written here after it was reviewed. */
const MAY: Readonly<Record<string, string>> = {
  api: 'user 10001, root read-only, capabilities none, seccomp RuntimeDefault, token none, config:configMap data:emptyDir nats-ca:secret nats:secret s3-ca:secret tmp:emptyDir',
  controller:
    'user 10001, root read-only, capabilities none, seccomp RuntimeDefault, token mounted, config:configMap data:emptyDir nats-ca:secret nats:secret s3-ca:secret',
  egress: 'user 10001, root read-only, capabilities none, seccomp RuntimeDefault, token none, data:emptyDir',
  minio: 'user 10001, root read-only, capabilities none, seccomp RuntimeDefault, token none, data:emptyDir tls:secret',
  nats: 'user 10001, root read-only, capabilities none, seccomp RuntimeDefault, token none, config:secret data:emptyDir tls:secret',
  worker:
    'user 10001, root read-only, capabilities none, seccomp RuntimeDefault, token none, config:configMap nats-ca:secret nats:secret s3-ca:secret work:emptyDir',
};

/** Addresses that no pod of this cluster has: that of a cloud's metadata, and one of the Internet. */
const METADATA = '169.254.169.254';
const PUBLIC = '93.184.215.14';

/** Whom each role reaches, of `DOORS`. All the others are shut. */
const REACHES: Readonly<Record<string, readonly string[]>> = {
  worker: ['nats', 'minio'],
  api: ['nats', 'minio', 'egress'],
  controller: ['nats', 'kubernetes'],
  egress: ['public'],
};

interface Pod {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>>; readonly deletionTimestamp?: string };
  readonly spec: {
    readonly hostNetwork?: boolean;
    readonly hostPID?: boolean;
    readonly hostIPC?: boolean;
    readonly securityContext: { readonly runAsUser?: number; readonly seccompProfile?: { readonly type: string } };
    readonly containers: readonly {
      readonly securityContext?: {
        readonly readOnlyRootFilesystem?: boolean;
        readonly allowPrivilegeEscalation?: boolean;
        readonly privileged?: boolean;
        readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
      };
    }[];
    readonly volumes: readonly ({ readonly name: string } & Readonly<Record<string, unknown>>)[];
  };
  readonly status: { readonly podIP: string; readonly phase: string };
}

const isToken = ({ name }: { readonly name: string }): boolean => name.startsWith('kube-api-access');

function rowOf({ spec }: Pod): string {
  const { securityContext: pod, containers, volumes } = spec;
  const every = (holds: (context: NonNullable<Pod['spec']['containers'][number]['securityContext']>) => boolean): boolean =>
    containers.every(({ securityContext }) => securityContext !== undefined && holds(securityContext));
  const isBare = every(
    ({ capabilities, privileged = false, allowPrivilegeEscalation = true }) =>
      capabilities?.drop?.includes('ALL') === true && capabilities.add === undefined && !privileged && !allowPrivilegeEscalation,
  );
  const host = [spec.hostNetwork, spec.hostPID, spec.hostIPC].some((shared) => shared === true) ? ', namespaces of its node' : '';
  const mounted = volumes
    .filter((volume) => !isToken(volume))
    .map((volume) => `${volume.name}:${Object.keys(volume).find((key) => key !== 'name')}`);
  return [
    `user ${pod.runAsUser}`,
    `root ${every(({ readOnlyRootFilesystem }) => readOnlyRootFilesystem === true) ? 'read-only' : 'writable'}`,
    `capabilities ${isBare ? 'none' : 'some'}`,
    `seccomp ${pod.seccompProfile?.type}`,
    `token ${volumes.some(isToken) ? 'mounted' : 'none'}`,
    `${mounted.sort().join(' ')}${host}`,
  ].join(', ');
}

/** Tries TCP connections, all at once. A policy drops packets: nothing answers. */
const TRY = `const net = require('node:net');
Promise.all(process.argv.slice(1).map((door) => new Promise((say) => {
  const [name, host, port] = door.split(' ');
  const socket = net.connect({ host, port: Number(port) });
  const end = (how) => { socket.destroy(); say(name + ' ' + how); };
  socket.on('connect', () => end('open')).on('error', ({ code }) => end(code)).setTimeout(2000, () => end('silent'));
}))).then((told) => console.log(told.join(', ')));`;

/** On the addresses above, and says so. */
const STRANGERS = `ip addr add ${METADATA}/32 dev node0; ip addr add ${PUBLIC}/32 dev node0; exec "$0" -e '
const net = require("node:net");
let open = 0;
process.stdin.resume().on("end", () => process.exit());
for (const [host, port] of [["${METADATA}", 80], ["${PUBLIC}", 443]]) net.createServer((socket) => socket.end()).listen(port, host, () => ++open === 2 && console.log("listening"));'`;

/** What a converter tries: a shell in the place of one, confined by the launcher of a worker as the worker does it. */
const CONVERTER = `try() { name=$1; shift; if "$@" >/dev/null 2>&1; then echo "$name: done"; else echo "$name: refused"; fi; }
put() { echo x >"$1"; }
tcp() { exec 3<>"/dev/tcp/$1/$2"; }
try 'its own folder' put mine
try 'the work folder' put /work/escaped
try 'other folders' ls /work
try 'the password of NATS' cat /etc/filemill/nats/NATS_PASSWORD
try "the worker's environment" cat /proc/1/environ
try 'a signal to the worker' kill -0 1
try 'NATS' tcp "$1" 4222
try 'the Kubernetes API' tcp "$2" 6443`;
const launcherArgs = [
  ...['--cwd /work/trial --data 536870912 --memory 268435456 --disk 1000000 --cpu 10 --fsize 1000000 --nproc 16 --wall 20000 --report 3'],
  ...['--rw /work/trial --rw /dev/null --env PATH=/usr/bin:/bin', ...SYSTEM_READS.map((place) => `--ro ${place}`)],
].join(' ');

interface Job {
  readonly metadata: Readonly<Record<'labels' | 'annotations', Readonly<Record<string, string>>>> & { readonly ownerReferences: unknown };
  readonly spec: {
    readonly template: { readonly metadata: { readonly labels: Readonly<Record<string, string>> }; readonly spec: Pod['spec'] };
  };
}

/** Labels that the API server gives to a Job and its pods. */
const withoutIts = (labels: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => !/^(batch\.kubernetes\.io\/|controller-uid$|job-name$)/.test(key)));

/** Tries, as anyone with the controller's token could, to create a worker's Job again in another slot, with other fields in its container. @returns what the API server says to this dry run */
async function forge(job: Job, fields: Readonly<Record<string, unknown>>): Promise<string> {
  const [{ template, ...spec }, labels] = [job.spec, withoutIts(job.metadata.labels)];
  const [container] = template.spec.containers;
  const forged = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: 'filemill-image-13',
      labels: { ...labels, 'filemill.io/slot': '13' },
      ...(job.metadata.annotations && { annotations: job.metadata.annotations }),
      ownerReferences: job.metadata.ownerReferences,
    },
    spec: {
      ...spec,
      selector: undefined,
      template: {
        metadata: { ...template.metadata, labels: withoutIts(template.metadata.labels) },
        spec: { ...template.spec, containers: [{ ...container, ...fields }] },
      },
    },
  };
  const account = 'system:serviceaccount:filemill:filemill-controller';
  const args = ['--namespace', NAMESPACE, `--as=${account}`, 'create', '--dry-run=server', '--output=name', '--filename=-'];
  const asked = program('.cache/bin/kubectl', args, 120_000, JSON.stringify(forged));
  return (await asked.catch((error: Error) => error.message)).trim();
}

export async function confine(): Promise<void> {
  const podsNow = async () =>
    (JSON.parse(await inNamespace('get', 'pods', '-o', 'json')) as { items: Pod[] }).items.filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
  const componentOf = ({ metadata }: Pod): string => metadata.labels['app.kubernetes.io/component'] ?? '';
  const pods = await eventually('all pods', podsNow, (found) =>
    Object.keys(MAY).every((component) => found.some((pod) => componentOf(pod) === component && pod.status.phase === 'Running')),
  );
  /** Workers only of the pool that keeps one: others try their engines, and end. */
  const running = (component: string): readonly Pod[] =>
    pods.filter(
      (pod) =>
        componentOf(pod) === component &&
        pod.status.phase === 'Running' &&
        (component !== 'worker' || pod.metadata.labels['filemill.io/pool'] === 'image'),
    );
  const one = (component: string): Pod => {
    const pod = running(component)[0];
    if (pod === undefined) throw new Error(`there is no pod of ${component}`);
    return pod;
  };
  const nameOf = (component: string): string => one(component).metadata.name;
  await step('what each pod is allowed', async () => {
    for (const pod of pods) {
      const component = componentOf(pod);
      // The pod of `helm test`, which stays until the next one.
      if (component === 'test') continue;
      must(rowOf(pod) === MAY[component], `${pod.metadata.name} may do something else:\n  ${rowOf(pod)}\n  ${MAY[component]}`);
    }
    return `${pods.length} pods are as their rows in test/e2e/confinement.ts`;
  });
  await step('what a worker finds', async () => {
    const inside = (script: string) => inNamespace('exec', nameOf('worker'), '--', 'sh', '-c', script);
    must((await inside('ls /var/run/secrets/kubernetes.io 2>/dev/null || echo none')).trim() === 'none', 'a worker has a token');
    must((await inside('(echo x > /usr/x) 2>/dev/null || echo refused')).trim() === 'refused', 'its root can be written to');
    const status = await inside('id -u; cat /proc/1/status');
    for (const [what, line] of [
      ['another user', /^10001$/m],
      ['capabilities', /^CapEff:\s+0+$/m],
      ['capabilities to come', /^CapBnd:\s+0+$/m],
      ['no seccomp filter', /^Seccomp:\s+2$/m],
      ['ways to new privileges', /^NoNewPrivs:\s+1$/m],
    ] as const)
      must(line.test(status), `it has ${what}`);
    return 'no token, no capability, a read-only root, seccomp';
  });
  await step('what a converter finds', async () => {
    const script = `mkdir -p /work/trial; /app/.cache/bin/launcher ${launcherArgs} --parent $$ -- /usr/bin/bash -c "$1" bash "$2" "$3" 3>/dev/null`;
    const args = [CONVERTER, one('nats').status.podIP, node];
    const told = (await inNamespace('exec', nameOf('worker'), '--', 'sh', '-c', script, 'sh', ...args)).trim().split('\n');
    const done = told.filter((line) => !line.endsWith(': refused'));
    must(told.length === 8 && done.length === 1 && done[0] === 'its own folder: done', `it may do more: ${told.join(', ')}`);
    return told.join(', ');
  });
  await step('whom each pod reaches, by the NetworkPolicies', async () => {
    const kubernetes = (await kubectl('get', 'service', 'kubernetes', '-o', 'jsonpath={.spec.clusterIP}')).trim();
    const other = running('worker').at(-1);
    const doors: Readonly<Record<string, readonly [host: string, port: number]>> = {
      nats: [one('nats').status.podIP, 4_222],
      'monitor of NATS': [one('nats').status.podIP, 8_222],
      minio: [one('minio').status.podIP, 9_000],
      egress: [one('egress').status.podIP, 8_081],
      api: [one('api').status.podIP, 8_080],
      'metrics of API': [one('api').status.podIP, 9_090],
      worker: [other?.status.podIP ?? '', 9_090],
      kubernetes: [kubernetes, 443],
      kubelet: [node, 10_250],
      metadata: [METADATA, 80],
      public: [PUBLIC, 443],
    };
    const strangers: ChildProcess = spawn('scripts/cluster', ['enter', 'sh', '-c', STRANGERS, process.execPath], {
      cwd: checkout,
      env: environment,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    try {
      await once(strangers.stdout ?? strangers, 'data', { signal: AbortSignal.timeout(20_000) });
      for (const [role, reaches] of Object.entries(REACHES)) {
        // A worker's own port is reached by itself, whatever the policies say.
        const pod = running(role).find((found) => found !== other) ?? one(role);
        const tried = Object.entries(doors)
          .filter(([, [host]]) => host !== pod.status.podIP)
          .map(([name, [host, port]]) => `${name.replaceAll(' ', '-')} ${host} ${port}`);
        const told = (await inNamespace('exec', pod.metadata.name, '--', 'node', '-e', TRY, ...tried)).trim().split(', ');
        const wrong = told.filter(
          (line) => line !== `${line.split(' ')[0]} ${reaches.includes(line.split(' ')[0] ?? '') ? 'open' : 'silent'}`,
        );
        must(wrong.length === 0, `${role}: ${wrong.join(', ')}`);
      }
    } finally {
      strangers.stdin?.end();
    }
    return Object.entries(REACHES)
      .map(([role, reaches]) => `${role} → ${reaches.join(' and ')}`)
      .join(', ');
  });
  await step("a Job that is made with the controller's token", async () => {
    const { items } = JSON.parse(await inNamespace('get', 'jobs', '-l', 'filemill.io/pool=image', '-o', 'json')) as { items: Job[] };
    const [job] = items;
    if (job === undefined) throw new Error('the pool image has no Job');
    const same = await forge(job, {});
    must(same === 'job.batch/filemill-image-13', `one as its pool says is refused: ${same}`);
    for (const fields of [{ envFrom: [{ secretRef: { name: 'filemill-keys' } }] }, { image: 'example.org/miner' }, { command: ['sh'] }]) {
      const told = await forge(job, fields);
      must(told.includes('ValidatingAdmissionPolicy'), `one with ${Object.keys(fields)} passes: ${told}`);
    }
    return "as its pool says; not with a Secret, an image or a command of one's choice";
  });
}
