/** The custom resources on a real API server: what it takes, what it refuses and in which words, and what people see who use kubectl. */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { KubeObject } from '../../src/kube/resource.ts';
import { kstatus } from '../kit/controller/operator.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { until } from '../kit/kube/until.ts';

const EXAMPLES = 'manifests/examples';
const DEFINITIONS = ['toolchainpools.filemill.io', 'conversionjobs.filemill.io'];
const SERVED = '/apis/filemill.io/v1alpha1';

/** Cut short where its node is drained. */
const SHORT_GRACE = readFileSync(`${EXAMPLES}/pools/media.yaml`, 'utf8').replace(
  /terminationGraceSeconds: \d+/,
  'terminationGraceSeconds: 60',
);

let cluster: Cluster;

/** @returns what it printed @throws with its complaint */
async function kubectl(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await cluster.kubectl(args);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

/** @returns what kubectl says of a command that must fail */
async function complaint(...args: string[]): Promise<string> {
  const { code, stderr } = await cluster.kubectl(args);
  expect(code).not.toBe(0);
  return stderr;
}

const json = async (...args: string[]) => JSON.parse(await kubectl('get', ...args, '--output=json'));
const scaleOf = async (pool: string) => JSON.parse(await kubectl('get', `--raw=${SERVED}/namespaces/default/toolchainpools/${pool}/scale`));
const apply = (file: string, ...more: string[]) => ['apply', '--server-side', `--filename=${EXAMPLES}/${file}`, ...more];
const merge = (what: string, patch: object, ...more: string[]) => [
  'patch',
  what,
  '--type=merge',
  `--patch=${JSON.stringify(patch)}`,
  ...more,
];
const condition = (type: string, status: string) => ({
  type,
  status,
  reason: 'Tried',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const says = ({ status }: { status: { conditions: { type: string; status: string }[] } }) =>
  status.conditions.map(({ type, status }) => `${type} ${status}`).sort();
/** The rows of a table, without the age, which is last but for wide columns. */
const rows = (table: string): string[][] =>
  table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s{2,}/));

beforeAll(async () => {
  cluster = await startKubernetes({ without: ['controllers', 'scheduler', 'kwok'] });
  await kubectl('apply', '--server-side', '--filename=manifests/crds');
  await kubectl('wait', '--for=condition=Established', '--timeout=30s', ...DEFINITIONS.map((name) => `crd/${name}`));
  // Established is said a moment before the paths are served.
  await until('the resources to be served', async () => (await cluster.kubectl(['get', 'filemill'])).code === 0);
  await kubectl('apply', '--server-side', '--filename=manifests/admission/pools.yaml');
  const refused = ['create', '--dry-run=server', `--filename=${EXAMPLES}/invalid/pool-requests-above-limits.yaml`];
  const warned = ['create', '--dry-run=server', '--filename=-'];
  await until('the policies to be in force', async () => (await cluster.kubectl(refused)).code !== 0);
  await until('the warnings to be given', async () => (await cluster.kubectl(warned, SHORT_GRACE)).stderr.includes('Warning'));
});

afterAll(async () => {
  await cluster?.stop();
});

describe('the definitions', () => {
  it.each(DEFINITIONS)('%s is established, under its names, with a structural schema', async (name) => {
    expect(says(await json('crd', name))).toEqual(['Established True', 'NamesAccepted True']);
  });

  it('can be applied again without a change', async () => {
    const versions = () => kubectl('get', 'crd', ...DEFINITIONS, '--output=jsonpath={.items[*].metadata.resourceVersion}');
    const before = await versions();
    await kubectl('apply', '--server-side', '--filename=manifests/crds');
    expect(await versions()).toBe(before);
  });

  it.each([
    ['tp', 'toolchainpools'],
    ['cvj', 'conversionjobs'],
  ])('%s stands for %s', async (short, plural) => {
    const { resources } = JSON.parse(await kubectl('get', `--raw=${SERVED}`));
    const served = resources.find(({ name }: { name: string }) => name === plural);
    expect(served).toMatchObject({ shortNames: [short], categories: ['filemill'], namespaced: true });
  });

  it('explain what a field is for', async () => {
    const capacity = (await kubectl('explain', 'toolchainpool.spec.capacity')).replace(/\s+/g, ' ');
    expect(capacity).toContain('capacity <integer>');
    expect(capacity).toContain('Most workers at a time; 0 drains the pool.');
    expect(await kubectl('explain', 'cvj.status.output.sha256')).toContain('SHA-256 of its bytes');
  });

  it.each(['toolchainpool.spec', 'toolchainpool.status', 'conversionjob.spec', 'conversionjob.status'])(
    'explain every field of %s',
    async (path) => {
      const list = (await kubectl('explain', path)).split('FIELDS:\n')[1] ?? '';
      const fields = list.trimEnd().split(/\n(?= {2}\w+\t)/);
      expect(fields.length).toBeGreaterThan(5);
      expect(fields.filter((field) => field.includes('<no description>') || !/\n {4}\w/.test(field))).toEqual([]);
    },
  );
});

describe('the examples', () => {
  const right = ['pools', 'jobs'].flatMap((folder) => readdirSync(`${EXAMPLES}/${folder}`).map((file) => `${folder}/${file}`));
  const wrong = readdirSync(`${EXAMPLES}/invalid`).map((file) => {
    const text = readFileSync(`${EXAMPLES}/invalid/${file}`, 'utf8');
    return { file, sentence: text.split('\n')[0]?.replace(/^# /, '') ?? '', kind: (parse(text) as { kind: string }).kind };
  });

  it.each(right)('%s is accepted', async (file) => {
    expect(await kubectl(...apply(file, '--dry-run=server'))).toContain('serverside-applied (server dry run)');
  });

  it.each(wrong)('$file is refused: $sentence', async ({ file, sentence }) => {
    expect(sentence).toMatch(/^(spec|metadata\.name|unknown field "spec\.)/);
    expect(await complaint('create', '--dry-run=server', `--filename=${EXAMPLES}/invalid/${file}`)).toContain(sentence);
  });

  it.each(['ToolchainPool', 'ConversionJob'])('of a wrong %s are many', (kind) => {
    expect(wrong.filter((example) => example.kind === kind).length).toBeGreaterThan(10);
  });
});

describe('a ToolchainPool', () => {
  beforeAll(async () => {
    for (const pool of ['image', 'web']) await kubectl(...apply(`pools/${pool}.yaml`));
  });

  it('has its defaults filled in', async () => {
    const { spec } = await json('tp/web');
    expect(spec).toMatchObject({
      capacity: 10,
      standby: 0,
      conversionsPerWorker: 100,
      slots: 1,
      targetWaitSeconds: 10,
      idleSeconds: 300,
      terminationGraceSeconds: 120,
      paused: false,
      preference: 0,
      workDirSize: '4Gi',
    });
    expect(spec).not.toHaveProperty('maxSeconds');
  });

  it.each([0.5, '0.5', '500m', 2, '.5', '5e-1'])('takes %j for a quantity', async (cpu) => {
    const patch = { spec: { resources: { requests: { cpu } } } };
    const { spec } = JSON.parse(await kubectl(...merge('tp/web', patch, '--dry-run=server', '--output=json')));
    expect(spec.resources.requests.cpu).toBe(cpu);
  });

  it.each([-0.5, '1e999', `1${'0'.repeat(18)}`, '1.0000000001', [1], { of: 1 }, true])('takes %j for none', async (cpu) => {
    await complaint(...merge('tp/web', { spec: { resources: { requests: { cpu }, limits: { cpu: '8' } } } }, '--dry-run=server'));
  });

  it('whose workers may be cut short, or go before their node comes, is taken with a warning', async () => {
    const short = await cluster.kubectl(['create', '--dry-run=server', '--filename=-'], SHORT_GRACE);
    expect(short.code).toBe(0);
    expect(short.stderr).toContain('spec.terminationGraceSeconds: 60 s are less than spec.maxSeconds (3600 s)');
    const hasty = await cluster.kubectl(merge('tp/web', { spec: { idleSeconds: 60 } }, '--dry-run=server'));
    expect(hasty.code).toBe(0);
    expect(hasty.stderr).toContain('spec.idleSeconds: 60 s may be less than a node autoscaler needs for a node');
    for (const example of readdirSync(`${EXAMPLES}/pools`)) {
      const { code, stderr } = await cluster.kubectl([
        'create',
        '--dry-run=server',
        `--namespace=kube-public`,
        `--filename=${EXAMPLES}/pools/${example}`,
      ]);
      expect([example, code, stderr]).toEqual([example, 0, '']);
    }
  });

  it('keeps what a newer Kubernetes knows of affinity', async () => {
    const affinity = { podAffinity: { someday: [{ weight: 1 }] } };
    await kubectl(...merge('tp/web', { spec: { affinity } }));
    expect((await json('tp/web')).spec.affinity).toEqual(affinity);
  });

  it('is scaled by kubectl, down to nothing though others asked for standby', async () => {
    await kubectl('scale', 'tp/image', '--replicas=3');
    expect((await json('tp/image')).spec.capacity).toBe(3);
    await kubectl('scale', 'tp/image', '--replicas=0');
    expect((await json('tp/image')).spec).toMatchObject({ capacity: 0, standby: 1 });
  });

  it('is not scaled above what is allowed', async () => {
    const said = await complaint('scale', 'tp/image', '--replicas=5001');
    expect(said).toContain('spec.capacity in body should be less than or equal to 5000');
  });

  it('answers an autoscaler though its capacity was never set', async () => {
    expect((await scaleOf('web')).spec.replicas).toBe(10);
  });

  it('keeps what an autoscaler wrote when it is applied again without capacity', async () => {
    await kubectl('scale', 'tp/web', '--replicas=7');
    await kubectl(...apply('pools/web.yaml'));
    expect((await json('tp/web')).spec.capacity).toBe(7);
  });

  it('refuses another capacity than it was scaled to, and names the conflict', async () => {
    await kubectl(...apply('pools/image.yaml', '--force-conflicts'));
    await kubectl('scale', 'tp/image', '--replicas=3');
    const said = await complaint(...apply('pools/image.yaml'));
    expect(said).toMatch(/conflict with "kubectl" with subresource "scale".*\.spec\.capacity/);
  });

  // A Scale of no replicas looks to the API server like one that says nothing: docs/resources.md warns of it.
  it('forgets the scaler that set it to zero, so that the next apply sets its capacity', async () => {
    await kubectl(...apply('pools/image.yaml', '--force-conflicts'));
    await kubectl('scale', 'tp/image', '--replicas=0');
    await kubectl(...apply('pools/image.yaml'));
    expect((await json('tp/image')).spec.capacity).toBe(40);
  });

  it('leaves its capacity to a scaler that changed the figure, and to no other, once it is applied without one', async () => {
    const withoutCapacity = readFileSync(`${EXAMPLES}/pools/image.yaml`, 'utf8').replace(/^ *capacity: .*\n/m, '');
    const handOver = () => cluster.kubectl(['apply', '--server-side', '--filename=-'], withoutCapacity);
    await kubectl(...apply('pools/image.yaml', '--force-conflicts'));
    await kubectl('scale', 'tp/image', '--replicas=39');
    await handOver();
    expect((await json('tp/image')).spec.capacity).toBe(39);
    await kubectl(...apply('pools/image.yaml', '--force-conflicts'));
    await kubectl('scale', 'tp/image', '--replicas=40');
    await handOver();
    expect((await json('tp/image')).spec.capacity).toBe(10);
  });

  it('shows workers and their selector to autoscalers', async () => {
    const status = { workers: 7, selector: 'filemill.io/pool=image' };
    await kubectl(...merge('tp/image', { status }, '--subresource=status'));
    expect((await scaleOf('image')).status).toEqual({ replicas: 7, selector: 'filemill.io/pool=image' });
    await kubectl('scale', 'tp/image', '--replicas=9');
    const [head, row] = rows(await kubectl('get', 'tp/image', '--subresource=scale'));
    expect(head).toEqual(['NAME', 'DESIRED', 'AVAILABLE', 'AGE']);
    expect(row).toEqual(['image', '9', '7', expect.any(String)]);
  });

  it('shows its state in columns', async () => {
    await kubectl('scale', 'tp/image', '--replicas=40');
    const status = { workers: 7, busy: 4, idle: 3, queued: 12, conditions: [condition('Ready', 'True')] };
    await kubectl(...merge('tp/image', { status }, '--subresource=status'));
    const [head, row] = rows(await kubectl('get', 'tp/image'));
    expect(head).toEqual(['NAME', 'TOOLCHAIN', 'WORKERS', 'BUSY', 'IDLE', 'QUEUED', 'CAPACITY', 'READY', 'REASON', 'AGE']);
    expect(row).toEqual(['image', 'image', '7', '4', '3', '12', '40', 'True', 'Tried', expect.any(String)]);
  });

  it('is in progress for tools that follow kstatus as long as no controller has seen it', async () => {
    for (const example of ['pools/image.yaml', 'jobs/thumbnail.yaml']) {
      const made = JSON.parse(
        await kubectl('create', `--filename=${EXAMPLES}/${example}`, '--namespace=kube-public', '--dry-run=server', '--output=json'),
      ) as KubeObject;
      expect([example, await kstatus(made)]).toEqual([example, 'InProgress']);
    }
  });

  it('takes conditions of several writers, one of each type', async () => {
    const write = async (manager: string, ...conditions: object[]) => {
      const head = { apiVersion: 'filemill.io/v1alpha1', kind: 'ToolchainPool', metadata: { name: 'web' } };
      const { stderr } = await cluster.kubectl(
        ['apply', '--server-side', '--subresource=status', `--field-manager=${manager}`, '--filename=-'],
        JSON.stringify({ ...head, status: { conditions } }),
      );
      expect(stderr).toBe('');
    };
    await write('scaling', condition('Progressing', 'True'));
    await write('credentials', condition('CredentialsMissing', 'False'));
    await write('scaling', condition('Progressing', 'False'));
    expect(says(await json('tp/web'))).toEqual(['CredentialsMissing False', 'Progressing False']);
  });

  it('has a status that no write of its spec changes, and a spec that no write of its status changes', async () => {
    await kubectl(...merge('tp/web', { spec: { standby: 2 }, status: { desired: 99 } }));
    await kubectl(...merge('tp/web', { spec: { standby: 99 }, status: { running: 5 } }, '--subresource=status'));
    const { spec, status } = await json('tp/web');
    expect(spec.standby).toBe(2);
    expect(status.running).toBe(5);
    expect(status).not.toHaveProperty('desired');
  });

  it.each([
    [{ toolchain: 'pdf' }, 'spec.toolchain: Invalid value: toolchain cannot be changed'],
    [{ standby: 100 }, 'spec.standby: Invalid value: standby must not exceed capacity'],
    [{ slots: 64, conversionsPerWorker: 63 }, 'spec.slots: Invalid value: slots must not exceed conversionsPerWorker'],
  ])('is not edited to %j', async (spec, sentence) => {
    expect(await complaint(...merge('tp/image', { spec }))).toContain(sentence);
  });

  it('may say later what its name said, and nothing else', async () => {
    await kubectl(...merge('tp/web', { spec: { toolchain: 'web' } }));
    expect(await complaint(...merge('tp/web', { spec: { toolchain: 'image' } }))).toContain('toolchain cannot be changed');
  });
});

describe('a ConversionJob', () => {
  beforeAll(async () => {
    for (const job of ['report', 'thumbnail']) await kubectl(...apply(`jobs/${job}.yaml`));
  });

  it('has its time to live filled in', async () => {
    expect((await json('cvj/report')).spec.ttlSecondsAfterFinished).toBe(7200);
  });

  it.each([
    { toFormat: 'odt' },
    { source: { url: 'https://files.example.org/other.docx' } },
    { toFormat: null, tool: 'compress-pdf' },
    { options: { dpi: '300' } },
    { ttlSecondsAfterFinished: 1 },
  ])('is not edited to %j', async (spec) => {
    const said = await complaint(...merge('cvj/report', { spec }));
    expect(said).toContain('spec: Invalid value: spec cannot be changed: make another ConversionJob');
  });

  it.each(['.pdf', 'markdown', 'tar.gz'])('may name its format as a request of REST: %s', async (toFormat) => {
    const job = parse(readFileSync(`${EXAMPLES}/jobs/report.yaml`, 'utf8')) as { metadata: object; spec: object };
    const other = { ...job, metadata: { ...job.metadata, name: 'named' }, spec: { ...job.spec, toFormat } };
    const { code, stderr } = await cluster.kubectl(['create', '--dry-run=server', '--filename=-'], JSON.stringify(other));
    expect([code, stderr]).toEqual([0, '']);
  });

  it('may be labelled and finalized all the same', async () => {
    const metadata = { labels: { team: 'books' }, finalizers: ['filemill.io/cancel'] };
    await kubectl(...merge('cvj/report', { metadata }));
    expect((await json('cvj/report')).metadata).toMatchObject(metadata);
    await kubectl(...merge('cvj/report', { metadata: { finalizers: null } }));
  });

  it('shows where it stands in columns', async () => {
    const jobId = '0123456789abcdef0123456789abcdef';
    await kubectl(...merge('cvj/report', { status: { phase: 'Running', progress: 40, jobId } }, '--subresource=status'));
    const [head, row] = rows(await kubectl('get', 'cvj/report'));
    // The id of the job is not shown: any client that has it may fetch the output.
    expect(head).toEqual(['NAME', 'PHASE', 'TO', 'PROGRESS', 'AGE']);
    expect(row).toEqual(['report', 'Running', 'pdf', '40', expect.any(String)]);
    const [wide] = rows(await kubectl('get', 'cvj', '--output=wide'));
    expect(wide).toEqual(['NAME', 'PHASE', 'TO', 'PROGRESS', 'AGE', 'TOOL', 'ERROR']);
  });

  it('is waited for by its condition', async () => {
    const waiting = kubectl('wait', '--for=condition=Complete', '--timeout=30s', 'cvj/thumbnail');
    const status = { phase: 'Complete', observedGeneration: 1, conditions: [condition('Complete', 'True')] };
    await kubectl(...merge('cvj/thumbnail', { status }, '--subresource=status'));
    expect(await waiting).toContain('condition met');
  });

  it('has a status that no write of its metadata changes', async () => {
    await kubectl(...merge('cvj/report', { status: { phase: 'Running' } }, '--subresource=status'));
    await kubectl(...merge('cvj/report', { metadata: { labels: { team: 'none' } }, status: { phase: 'Complete' } }));
    expect(await json('cvj/report')).toMatchObject({ metadata: { labels: { team: 'none' } }, status: { phase: 'Running' } });
  });

  it('has a status of known phases only', async () => {
    const said = await complaint(...merge('cvj/report', { status: { phase: 'Lost' } }, '--subresource=status'));
    expect(said).toContain('status.phase: Unsupported value: "Lost"');
  });
});
