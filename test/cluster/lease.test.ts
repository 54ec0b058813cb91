import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectKube, type Kube } from '../../src/kube/connection/connect.ts';
import { type LeaderElector, startLeaderElection } from '../../src/kube/lease.ts';
import { type KubeObject, LEASES } from '../../src/kube/resource.ts';
import { startFaultyProxy } from '../kit/kube/faulty-proxy.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { until } from '../kit/kube/until.ts';

interface Lease extends KubeObject {
  readonly spec: {
    readonly holderIdentity: string;
    readonly acquireTime: string;
    readonly renewTime: string;
    readonly leaseTransitions: number;
    readonly leaseDurationSeconds: number;
  };
}

const namespace = 'default';
/** What an operator is promised: another leads so long after the leader was killed, and after it left, ms. */
const TAKEOVER_MS = 20_000;
const HANDOVER_MS = 2_000;

let cluster: Cluster;
let kube: Kube;
const candidacies: LeaderElector[] = [];
const children: ChildProcess[] = [];

function stand(name: string, identity: string, own: Kube = kube): LeaderElector {
  const candidacy = startLeaderElection({ kube: own, namespace, name, identity });
  candidacies.push(candidacy);
  return candidacy;
}

/** As a separate process, which a test can freeze and kill. */
function spawnCandidate(name: string, identity: string) {
  const said: string[] = [];
  const script = join(import.meta.dirname, '../kit/kube/candidate.ts');
  const child = spawn(process.execPath, [script, cluster.kubeconfig, name, identity], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
  return { child, said };
}

const leaseOf = (name: string) => kube.get<Lease>(LEASES, { name, namespace });

beforeAll(async () => {
  cluster = await startKubernetes({ without: ['controllers', 'scheduler', 'kwok'] });
  kube = cluster.kube;
});

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await Promise.all(candidacies.map((candidacy) => candidacy.resign()));
  await cluster?.stop();
});

// Those that wait a lease out come first, so that they wait together.
describe.concurrent('a lease', () => {
  it('of a killed leader is taken over in time', async () => {
    const leader = spawnCandidate('killed', 'one');
    await until('the first to lead', () => leader.said.includes('won, leading'));
    const follower = stand('killed', 'other');
    await until('the follower to know the leader', () => follower.holder === 'one');
    const killed = performance.now();
    leader.child.kill('SIGKILL');
    await follower.won;
    expect(performance.now() - killed).toBeLessThan(TAKEOVER_MS);
  });

  it('of a frozen leader is taken over, and it knows when it wakes', async () => {
    const leader = spawnCandidate('frozen', 'one');
    await until('the first to lead', () => leader.said.includes('won, leading'));
    const follower = stand('frozen', 'other');
    await until('the follower to know the leader', () => follower.holder === 'one');
    leader.child.kill('SIGSTOP');
    await follower.won;
    const ended = once(leader.child, 'exit');
    leader.child.kill('SIGCONT');
    await ended;
    expect(leader.said).toEqual(['won, leading', expect.stringMatching(/^lost: .*, not leading$/)]);
    expect(follower.leading).toBe(true);
  });

  it('that cannot be renewed is lost before another replica may take it', async () => {
    const proxy = await startFaultyProxy(cluster.kubeconfig, 'lost');
    const own = await connectKube({ kubeconfig: proxy.kubeconfig });
    const leader = stand('lost', 'one', own);
    await leader.won;
    const follower = stand('lost', 'other');
    await until('the follower to know the leader', () => follower.holder === 'one');
    proxy.swallow();
    const why = await Promise.race([leader.lost, follower.won]);
    expect(why).toMatch(/could not be renewed for 10000 ms/);
    expect([leader.leading, follower.leading]).toEqual([false, false]);
    await follower.won;
    await proxy.close();
    own.close();
  });

  for (const stallMs of [4_000, 7_000])
    it(`is kept through ${stallMs / 1_000} s in which the API server answers nothing`, async () => {
      const name = `stalled-${stallMs}`;
      const proxy = await startFaultyProxy(cluster.kubeconfig, name);
      const own = await connectKube({ kubeconfig: proxy.kubeconfig });
      const leader = stand(name, 'one', own);
      await leader.won;
      const { spec } = await leaseOf(name);
      await until('a renewal', async () => (await leaseOf(name)).spec.renewTime > spec.renewTime);
      proxy.stall();
      await pause(stallMs);
      proxy.open();
      const stalled = await leaseOf(name);
      await until('a renewal after it', async () => (await leaseOf(name)).spec.renewTime > stalled.spec.renewTime);
      expect(leader.leading).toBe(true);
      expect((await leaseOf(name)).spec).toMatchObject({ holderIdentity: 'one', leaseTransitions: 0 });
      await proxy.close();
      own.close();
    });

  it('is won by the first, whose record other clients of Kubernetes can read', async () => {
    const first = stand('first', 'one');
    await first.won;
    expect(first.leading).toBe(true);
    const { spec } = await leaseOf('first');
    expect(spec).toMatchObject({ holderIdentity: 'one', leaseDurationSeconds: 15, leaseTransitions: 0 });
    expect(spec.renewTime).toMatch(/\.\d{6}Z$/);
    const { stdout } = await cluster.kubectl(['get', 'lease', 'first', '-o', 'jsonpath={.spec.holderIdentity}']);
    expect(stdout).toBe('one');
  });

  it('is renewed by its holder alone', async () => {
    const [one, other] = [stand('renewed', 'one'), stand('renewed', 'other')];
    await Promise.race([one.won, other.won]);
    const [leader, follower] = one.leading ? [one, other] : [other, one];
    const { spec } = await leaseOf('renewed');
    await until('a renewal', async () => (await leaseOf('renewed')).spec.renewTime > spec.renewTime);
    await until('the follower to know the leader', () => follower.holder === spec.holderIdentity);
    expect([leader.leading, follower.leading]).toEqual([true, false]);
    expect(await leaseOf('renewed')).toMatchObject({ spec: { holderIdentity: spec.holderIdentity, acquireTime: spec.acquireTime } });
  });

  it('that is handed over is taken up within a period', async () => {
    const leader = stand('released', 'one');
    await leader.won;
    const follower = stand('released', 'other');
    await until('the follower to know the leader', () => follower.holder === 'one');
    const left = performance.now();
    await leader.resign();
    expect(leader.leading).toBe(false);
    await follower.won;
    expect(performance.now() - left).toBeLessThan(HANDOVER_MS + 500);
    expect((await leaseOf('released')).spec).toMatchObject({ holderIdentity: 'other', leaseTransitions: 1 });
  });

  it('is not believed to be held by a process that was too busy to renew it', async () => {
    const busy = startLeaderElection({ kube, namespace, name: 'busy', identity: 'one', renewDeadlineMs: 600, retryPeriodMs: 100 });
    candidacies.push(busy);
    await busy.won;
    // As a long calculation would, it keeps every timer and answer waiting.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
    expect(busy.leading).toBe(false);
    expect(await busy.lost).toMatch(/could not be renewed/);
  });

  it('asks for no more than the right to make one, and to follow and update its own', async () => {
    const own = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
    const rules = [
      { ...own, verbs: ['create'] },
      { ...own, resourceNames: ['rights'], verbs: ['get', 'list', 'watch', 'update'] },
    ];
    const account = { name: 'candidate', namespace };
    const kubeconfig = await cluster.kubeconfigFor(account);
    const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'rights' };
    const api = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
    await kube.request('POST', `${api}/roles`, { metadata: { name: 'rights' }, rules });
    const subjects = [{ kind: 'ServiceAccount', ...account }];
    await kube.request('POST', `${api}/rolebindings`, { metadata: { name: 'rights' }, roleRef: role, subjects });
    const limited = await connectKube({ kubeconfig });
    const troubles: unknown[] = [];
    const onTrouble = (error: unknown) => void troubles.push(error);
    const [one, other] = ['one', 'other'].map((identity) =>
      startLeaderElection({ kube: limited, namespace, name: 'rights', identity, onTrouble }),
    ) as [LeaderElector, LeaderElector];
    await Promise.race([one.won, other.won]);
    const [leader, follower] = one.leading ? [one, other] : [other, one];
    await leader.resign();
    await follower.won;
    await follower.resign();
    limited.close();
    // Two that begin at the same time may conflict, but neither lacks a right.
    expect(troubles.filter((error) => (error as { status?: number }).status === 403)).toEqual([]);
  });

  it('that another holder took is lost', async () => {
    const leader = stand('taken', 'one');
    await leader.won;
    const lease = await leaseOf('taken');
    await kube.patch(LEASES, lease.metadata, { spec: { holderIdentity: 'a person' } });
    expect(await leader.lost).toBe('a person holds the lease now');
    expect(leader.leading).toBe(false);
  });

  it('that was deleted is created again by its holder', async () => {
    const leader = stand('deleted', 'one');
    await leader.won;
    await kube.remove(LEASES, { name: 'deleted', namespace });
    await until('it to be there again', () => leaseOf('deleted').then(Boolean, () => false));
    expect(leader.leading).toBe(true);
  });

  it('does not trust the clocks of others: a renewal from the past counts', async () => {
    const spec = { holderIdentity: 'slow clock', leaseDurationSeconds: 3, leaseTransitions: 3 };
    const at = (renewTime: string) => ({ ...spec, acquireTime: renewTime, renewTime });
    await kube.create<Lease>(LEASES, { metadata: { name: 'clocks', namespace }, spec: at('2001-01-01T00:00:00.000000Z') });
    const follower = startLeaderElection({ kube, namespace, name: 'clocks', identity: 'other', retryPeriodMs: 200 });
    candidacies.push(follower);
    for (let second = 1; second <= 4; second++) {
      await pause(1_000);
      expect(follower.leading).toBe(false);
      await kube.patch(LEASES, { name: 'clocks', namespace }, { spec: at(`2001-01-01T00:00:0${second}.000000Z`) });
    }
    await follower.won;
    expect((await leaseOf('clocks')).spec.leaseTransitions).toBe(4);
  });
});
