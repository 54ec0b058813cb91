/** The cluster of `make e2e` and the release in it, as the programs of an operator reach them. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { toolchains } from '../../src/contracts/toolchains.ts';

const execute = promisify(execFile);
export const checkout = join(import.meta.dirname, '../..');
const { version } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as { version: string };
export const lane = process.env['CLUSTER_LANE'] ?? '0';
/** The first half of all its addresses. */
export const network = `10.${200 + Number(lane)}`;
/** Address of its first node. */
export const node = `${network}.0.1`;
export const clusterDir = process.env['CLUSTER_DIR'] ?? join(checkout, '.cache/cluster');
export const NAMESPACE = 'filemill';
const NODE_PORT = 30_080;
export const base = `http://${node}:${NODE_PORT}`;
export const environment = {
  ...process.env,
  KUBECONFIG: join(clusterDir, 'kubeconfig'),
  HELM_CACHE_HOME: '/tmp/.helm',
  HELM_DATA_HOME: '/tmp/.helm',
};
const { pools } = parse(await readFile(join(checkout, 'test/e2e/values.yaml'), 'utf8')) as {
  pools: Readonly<Record<string, { spec: { nodeSelector?: Readonly<Record<string, string>> } }>>;
};
/** The labels of the nodes of scripts/cluster. */
const NODES = ['image', 'office'];
/** Which images go to which node, `node=image`: a toolchain's to the node that test/e2e/values.yaml selects, or to each. */
export const IMAGES = [
  'app',
  ...toolchains.map((name) => {
    const selected = pools[name]?.spec.nodeSelector?.['filemill.io/pool'];
    return selected === undefined ? name : `${NODES.indexOf(selected) + 1}=${name}`;
  }),
];

/** @param input what it reads @returns what it writes @throws with what it wrote as its errors, or that it took too long */
export async function program(file: string, args: readonly string[], timeout = 300_000, input = ''): Promise<string> {
  const running = execute(file, args, { env: environment, cwd: checkout, timeout, maxBuffer: 64 << 20 });
  // A program that reads nothing may have ended: that writing to it fails is no error.
  if (input !== '') running.child.stdin?.on('error', () => {}).end(input);
  return (
    await running.catch((error: Error & { killed?: boolean; stdout?: string }) => {
      if (error.killed !== true) throw error;
      throw new Error(
        `${file} ${args.join(' ')}: not done within ${timeout / 1000} s; last: ${error.stdout?.trimEnd().split('\n').at(-1)}`,
      );
    })
  ).stdout;
}
/** The 5 GB of all images took 140 to 210 s on a machine with two cores, and more than 300 s on a busy one. */
const CLUSTER_LIMIT_MS = 900_000;
export const cluster = (...args: readonly string[]) => program('scripts/cluster', args, CLUSTER_LIMIT_MS);
export const kubectl = (...args: readonly string[]) => program('.cache/bin/kubectl', args, 120_000);
export const inNamespace = (...args: readonly string[]) => kubectl('--namespace', NAMESPACE, ...args);
/** What of the namespace's pods tells whether one will stay. */
interface PodState {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly status: { readonly containerStatuses?: readonly { readonly ready: boolean }[] };
}
/** Pods with these labels that are ready, but for those that were told to go. */
export async function stayingPods(selector: string): Promise<readonly string[]> {
  const { items } = JSON.parse(await inNamespace('get', 'pods', '-l', selector, '-o', 'json')) as { items: PodState[] };
  return items
    .filter(({ metadata, status }) => metadata.deletionTimestamp === undefined && status.containerStatuses?.every(({ ready }) => ready))
    .map(({ metadata }) => metadata.name);
}
const EXEC_TRIES = 3;
/** Runs a program in one of these pods; in another one if that ends meanwhile, as a worker does that is no longer needed. */
export async function execIn(selector: string, ...command: readonly string[]): Promise<string> {
  for (let tries = 1; ; tries++) {
    const [pod] = await stayingPods(selector);
    if (pod === undefined) throw new Error(`no pod is ready of ${selector}`);
    try {
      return await inNamespace('exec', pod, '--', ...command);
    } catch (error) {
      if (tries === EXEC_TRIES || (await stayingPods(selector)).includes(pod)) throw error;
    }
  }
}
/** What one of these pods says of itself to Prometheus. */
export const metricsOf = (selector: string): Promise<string> =>
  execIn(selector, 'node', '-e', "fetch('http://127.0.0.1:9090/metrics').then((answer) => answer.text()).then(console.log)");
export const helm = (...args: readonly string[]) => program('.cache/bin/helm', [...args, '--namespace', NAMESPACE], 300_000);
export const VALUES = [
  '--values',
  'charts/filemill/values-trial.yaml',
  '--values',
  'test/e2e/values.yaml',
  '--set',
  `api.publicUrl=${base},networkPolicy.apiServerCidrs={${node}/32}`,
];
export const imageOf = (name: string, tag = version): string => name.replace(/(?<=^(?:\d=)?)(\w+)$/, `localhost/filemill/$1:${tag}`);

/** Ends what runs in the cluster's namespaces, as a crash would: its container is started again, or its Job fails. */
export const crash = (command: string, variable = '') =>
  cluster(
    'enter',
    'sh',
    '-c',
    `for p in $(pgrep -f "$1"); do [ -z "$2" ] || grep -qz "^$2$" /proc/$p/environ || continue; kill -KILL $p; done`,
    'sh',
    command,
    variable,
  );
