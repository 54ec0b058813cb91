/** Who may do what: the controller's account in one namespace and in all, and people by the roles that every cluster has. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { until } from '../kit/kube/until.ts';

const CONTROLLER = 'system:serviceaccount:filemill:filemill-controller';

let cluster: Cluster;

async function kubectl(...args: string[]): Promise<void> {
  const { code, stderr } = await cluster.kubectl(args);
  if (code !== 0) throw new Error(stderr);
}

/** @param what as `kubectl auth can-i` takes it */
async function may(user: string, namespace: string, what: string): Promise<boolean> {
  const { stdout } = await cluster.kubectl(['auth', 'can-i', ...what.split(' '), `--as=${user}`, `--namespace=${namespace}`]);
  return stdout.trim() === 'yes';
}

/** What the controller does, and what it could do harm with. */
const WORK = [
  'list toolchainpools.filemill.io',
  'patch toolchainpools.filemill.io --subresource=status',
  'patch conversionjobs.filemill.io',
  'create jobs.batch',
  'delete jobs.batch',
  'patch pods',
  'create events.events.k8s.io',
];
const HARM = [
  'patch toolchainpools.filemill.io',
  'delete toolchainpools.filemill.io',
  'create conversionjobs.filemill.io',
  'create pods',
  'create pods --subresource=exec',
  'patch jobs.batch',
  'get secrets',
  'list configmaps',
  'update leases.coordination.k8s.io/kube-scheduler',
  'create serviceaccounts --subresource=token',
];

beforeAll(async () => {
  // The controller manager is what sums roles up.
  cluster = await startKubernetes({ without: ['scheduler', 'kwok'] });
  await kubectl('apply', '--server-side', '--filename=manifests/crds');
  for (const name of ['filemill', 'team']) await kubectl('create', 'namespace', name);
});

afterAll(async () => {
  await cluster.stop();
});

describe("the controller's account", () => {
  beforeAll(() => kubectl('apply', '--server-side', '--filename=manifests/rbac/controller.yaml'));

  it.each(WORK)('may %s in its namespace', async (what) => {
    expect(await may(CONTROLLER, 'filemill', what)).toBe(true);
    expect(await may(CONTROLLER, 'team', what)).toBe(false);
  });

  it.each(HARM)('may not %s', async (what) => {
    expect(await may(CONTROLLER, 'filemill', what)).toBe(false);
  });

  it('may hold its own Lease', async () => {
    expect(await may(CONTROLLER, 'filemill', 'update leases.coordination.k8s.io/filemill-controller')).toBe(true);
  });
});

describe('people', () => {
  beforeAll(async () => {
    await kubectl('apply', '--server-side', '--filename=manifests/rbac/people.yaml');
    await kubectl('create', 'rolebinding', 'pools', '--clusterrole=filemill-pool-admin', '--user=pools', '--namespace=team');
    for (const role of ['view', 'edit', 'admin'])
      await kubectl('create', 'rolebinding', role, `--clusterrole=${role}`, `--user=${role}`, '--namespace=team');
    // Summed up one after the other, in its own time.
    for (const [role, what] of Object.entries({
      view: 'list toolchainpools',
      edit: 'create conversionjobs',
      admin: 'create conversionjobs',
    }))
      await until(`the role ${role}`, () => may(role, 'team', `${what}.filemill.io`));
  });

  it.each([
    ['list toolchainpools.filemill.io', ['view', 'edit', 'admin', 'pools']],
    ['get conversionjobs.filemill.io', ['edit', 'admin']],
    ['create conversionjobs.filemill.io', ['edit', 'admin']],
    // Pools belong to the service: no role that every namespace has lets its users change them.
    ['create toolchainpools.filemill.io', ['pools']],
    ['patch toolchainpools.filemill.io --subresource=scale', ['pools']],
    ['patch conversionjobs.filemill.io --subresource=status', []],
  ])('who may %s: %j', async (what, wanted) => {
    const allowed: string[] = [];
    for (const user of ['view', 'edit', 'admin', 'pools']) if (await may(user, 'team', what)) allowed.push(user);
    expect(allowed).toEqual(wanted);
  });
});

describe("the controller's account for all namespaces", () => {
  beforeAll(() => kubectl('apply', '--server-side', '--force-conflicts', '--filename=manifests/rbac/all-namespaces.yaml'));

  it.each(WORK)('may %s everywhere', async (what) => {
    expect(await may(CONTROLLER, 'team', what)).toBe(true);
  });

  it.each(HARM)('may not %s', async (what) => {
    expect(await may(CONTROLLER, 'team', what)).toBe(false);
  });

  it('may hold its own Lease, and none of another namespace', async () => {
    const what = 'update leases.coordination.k8s.io/filemill-controller';
    expect(await may(CONTROLLER, 'filemill', what)).toBe(true);
    expect(await may(CONTROLLER, 'team', what)).toBe(false);
  });

  it('is granted the same as for one', () => {
    const rules = (file: string) =>
      parseAllDocuments(readFileSync(`manifests/rbac/${file}`, 'utf8')).flatMap((document) => {
        const { rules = [] } = document.toJS() as { rules?: object[] };
        return rules;
      });
    expect(rules('all-namespaces.yaml')).toEqual(rules('controller.yaml'));
  });
});
