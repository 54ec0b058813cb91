/** The way from v1alpha1 to a next version, as docs/versioning.md plans it: what was stored before is read, and understood, at each step. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ConversionJob } from '../../src/contracts/kubernetes/conversion-job.ts';
import { ToolchainPool } from '../../src/contracts/kubernetes/toolchain-pool.ts';
import { eventually } from '../kit/api/wire.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';

interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
}
interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly versions: readonly [Version]; readonly conversion?: { readonly strategy: string } };
}
interface Stored {
  readonly apiVersion: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

const OLD = 'v1alpha1';
const NEXT = 'v1beta1';
const POOL = {
  apiVersion: `filemill.io/${OLD}`,
  kind: 'ToolchainPool',
  metadata: { name: 'image', namespace: 'default' },
  spec: {
    image: 'registry.example.org/image:1',
    natsSecretRef: { name: 'nats' },
    capacity: 7,
    slots: 2,
    resources: { requests: { cpu: '1' } },
    template: { spec: { containers: [{ name: 'worker', env: [{ name: 'LOG_LEVEL', value: 'debug' }] }] } },
  },
};
const JOB = {
  apiVersion: `filemill.io/${OLD}`,
  kind: 'ConversionJob',
  metadata: { name: 'report', namespace: 'default' },
  spec: { source: { key: 'report.docx' }, toFormat: 'pdf', options: { pdf_pages: '1-3' } },
};
const KINDS = [
  { plural: 'toolchainpools', object: POOL, schema: ToolchainPool },
  { plural: 'conversionjobs', object: JOB, schema: ConversionJob },
] as const;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startKubernetes({ without: ['controllers', 'scheduler', 'kwok'] });
}, 120_000);
afterAll(() => cluster?.stop());

const definition = (plural: string): Definition => parse(readFileSync(`manifests/crds/${plural}.filemill.io.yaml`, 'utf8')) as Definition;

/** @param versions each with what the definition that there is says of its only one */
function withVersions(plural: string, versions: readonly Version[]): object {
  const now = definition(plural);
  const [only] = now.spec.versions;
  return {
    ...now,
    spec: { ...now.spec, conversion: { strategy: 'None' }, versions: versions.map((version) => ({ ...only, ...version })) },
  };
}

async function kubectl(args: readonly string[], stdin?: object): Promise<string> {
  const { code, stdout, stderr } = await cluster.kubectl(args, stdin === undefined ? undefined : JSON.stringify(stdin));
  if (code !== 0) throw new Error(stderr);
  return stdout;
}
const define = (plural: string, versions: readonly Version[]) =>
  kubectl(['apply', '--server-side', '--force-conflicts', '--filename=-'], withVersions(plural, versions));
const read = async (plural: string, version: string, name: string): Promise<Stored> =>
  JSON.parse(await kubectl(['get', `${plural}.${version}.filemill.io`, name, '--output=json'])) as Stored;

describe.each(KINDS)('$plural that were stored as v1alpha1', ({ plural, object, schema }) => {
  const { name } = object.metadata;
  let stored: Stored;
  /** As the version after this one reads it: the schema knows one version only, whose name is not what is asked here. */
  const isUnderstood = async (version: string) => {
    const found = await read(plural, version, name);
    expect(found).toMatchObject({ apiVersion: `filemill.io/${version}`, spec: stored.spec });
    expect(schema.parse({ ...found, apiVersion: stored.apiVersion }).spec).toEqual(schema.parse(stored).spec);
  };

  beforeAll(async () => {
    await define(plural, [{ name: OLD, served: true, storage: true }]);
    await eventually(async () => (await cluster.kubectl(['get', plural])).code === 0, 'the kind to be served');
    await kubectl(['create', '--filename=-'], object);
    stored = await read(plural, OLD, name);
    expect(stored.spec).toMatchObject(object.spec);
  });

  it('are read as both while both are served', async () => {
    await define(plural, [
      { name: OLD, served: true, storage: true },
      { name: NEXT, served: true, storage: false },
    ]);
    await eventually(
      async () => (await cluster.kubectl(['get', `${plural}.${NEXT}.filemill.io`])).code === 0,
      'the next version to be served',
    );
    await isUnderstood(OLD);
    await isUnderstood(NEXT);
  });

  it('are stored again when they are written once more, and then nothing of the old version is left', async () => {
    await define(plural, [
      { name: OLD, served: true, storage: false },
      { name: NEXT, served: true, storage: true },
    ]);
    await kubectl(
      ['replace', '--filename=-'],
      JSON.parse(await kubectl(['get', `${plural}.${NEXT}.filemill.io`, '-A', '--output=json'])) as object,
    );
    await isUnderstood(OLD);
    const only = JSON.stringify({ status: { storedVersions: [NEXT] } });
    await kubectl(['patch', 'crd', `${plural}.filemill.io`, '--subresource=status', '--type=merge', `--patch=${only}`]);
    // The API server refuses this while it may have stored the old version.
    await define(plural, [{ name: NEXT, served: true, storage: true }]);
    await eventually(async () => (await cluster.kubectl(['get', `${plural}.${OLD}.filemill.io`])).code !== 0, 'the old version to be gone');
    await isUnderstood(NEXT);
  });
});
