/** A toolchain is a row of `contracts/toolchains.ts` and a folder in `images/`: what else names each of them is compared with the rows here. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ToolchainPool } from '../../../src/contracts/kubernetes/toolchain-pool.ts';
import { engineRoles, toolchains, toolchainTable } from '../../../src/contracts/toolchains.ts';

const yaml = (path: string) => parse(readFileSync(path, 'utf8'), { merge: true }) as Record<string, Record<string, unknown>>;
const named = [...toolchains].sort();

describe('each toolchain, and no other', () => {
  it.each(['charts/filemill/values.yaml', 'charts/filemill/values-trial.yaml'])('has a pool in %s', (path) => {
    const pools = Object.entries(yaml(path)['pools'] ?? {}) as [string, { enabled?: boolean }][];
    expect(pools.flatMap(([name, { enabled = true }]) => (enabled ? [name] : [])).sort()).toEqual(named);
  });

  it('has a service in compose.cluster.yaml, and a password to be set', () => {
    const services = Object.entries(yaml('compose.cluster.yaml')['services'] ?? {}) as [string, { environment?: { TOOLCHAIN?: string } }][];
    expect(services.flatMap(([, { environment }]) => environment?.TOOLCHAIN ?? []).sort()).toEqual(named);
    expect(readFileSync('compose.cluster.yaml', 'utf8')).toContain(`users="${['api', ...toolchains].join(' ').toUpperCase()}"`);
  });

  it('may have workers in the admission policies', () => {
    const bound = [...readFileSync('manifests/admission/workers.yaml', 'utf8').matchAll(/^ {2}name: filemill-workers-(\w+)$/gm)];
    expect(bound.map(([, name]) => name).sort()).toEqual(named);
  });

  it('has an image that the chart may name by its digest', () => {
    const schema = JSON.parse(readFileSync('charts/filemill/values.schema.json', 'utf8'));
    const { image, pools } = schema.properties;
    expect(image.properties.digests.propertyNames.enum.toSorted()).toEqual(['app', ...toolchains, 'ai-cuda'].sort());
    expect(pools).toBeDefined();
    for (const { name, image: repository } of toolchainTable) expect(repository).toBe(`filemill/${name}`);
  });
});

it('each toolchain has an example of a pool that is called like it', () => {
  const files = readdirSync('manifests/examples/pools');
  for (const name of toolchains) {
    expect(files).toContain(`${name}.yaml`);
    const example = yaml(`manifests/examples/pools/${name}.yaml`) as { metadata: object; spec: { image: string } };
    const pool = ToolchainPool.parse({ ...example, metadata: { ...example.metadata, uid: 'as-it-would-be' } });
    expect(pool.spec.toolchain ?? pool.metadata.name).toBe(name);
    expect(pool.spec.image).toContain(`filemill/${name}:`);
  }
});

it('each role of engines belongs to one toolchain', () => {
  const roles = toolchainTable.flatMap((row) => Object.keys(row.roles));
  expect(roles.sort()).toEqual([...engineRoles].sort());
});
