/** The schemas of the custom resources: what is read by people, and what keeps the API server's work within bounds. */

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { definitions } from '../../../scripts/crds.ts';
import { rootSchema, type Schema } from '../../../scripts/structural-schema.ts';
import { tools } from '../../../src/catalog/tools.ts';
import { loadConfig } from '../../../src/config.ts';
import { ConversionJob } from '../../../src/contracts/kubernetes/conversion-job.ts';
import { PoolToolchain } from '../../../src/contracts/kubernetes/toolchain.ts';
import { ToolchainPool, ToolchainPoolSpec, toolchainOf } from '../../../src/contracts/kubernetes/toolchain-pool.ts';
import { amountOf } from '../../../src/contracts/kubernetes/worker-pod.ts';
import { toolchains } from '../../../src/contracts/toolchains.ts';
import { createControllerMetrics } from '../../../src/telemetry/controller.ts';
import { memoryOf, OWN_BYTES } from '../../../src/worker/memory.ts';

interface Field {
  readonly path: string;
  readonly schema: Schema;
}

/** Every field, and every item of a list or value of a map. */
function fieldsOf({ path, schema }: Field): Field[] {
  const named = Object.entries(schema.properties ?? {}).map(([name, field]) => ({ path: `${path}.${name}`, schema: field }));
  const values = typeof schema.additionalProperties === 'object' ? [{ path: `${path}.*`, schema: schema.additionalProperties }] : [];
  const items = schema.items === undefined ? [] : [{ path: `${path}[]`, schema: schema.items }];
  return [...named, ...values, ...items].flatMap((field) => [field, ...fieldsOf(field)]);
}

/** Whether a value of this field can only be so large. */
function isBounded(schema: Schema): boolean {
  const some = (...words: string[]) => words.some((word) => word in schema);
  if (schema.type === 'integer') return some('minimum') && some('maximum');
  if (schema.type === 'string') return some('maxLength', 'enum', 'format', 'pattern');
  if (schema.type === 'array') return some('maxItems');
  return typeof schema.additionalProperties !== 'object' || some('maxProperties');
}

describe.each(definitions)('$kind', ({ schema }) => {
  const root = rootSchema(schema);
  const fields = fieldsOf({
    path: '',
    schema: { properties: { spec: root.properties?.['spec'] ?? {}, status: root.properties?.['status'] ?? {} } },
  });

  it('describes every field', () => {
    expect(fields.length).toBeGreaterThan(20);
    expect(fields.filter(({ path, schema }) => !/(\.\*|\[\])$/.test(path) && !schema.description).map(({ path }) => path)).toEqual([]);
  });

  it('bounds every number, text, list and map, as costs of rules are estimated from them', () => {
    expect(fields.filter(({ schema }) => !isBounded(schema)).map(({ path }) => path)).toEqual([]);
  });
});

const examples = (folder: string): { file: string; object: unknown }[] =>
  readdirSync(`manifests/examples/${folder}`).map((file) => ({
    file,
    object: parse(readFileSync(`manifests/examples/${folder}/${file}`, 'utf8')),
  }));

it.each([
  ['4Gi', 4 * 2 ** 30],
  ['1.5Ki', 1536],
  ['500m', 0.5],
  ['2e3', 2000],
  ['1E', 1e18],
  ['128974848', 128_974_848],
])('the quantity %s is %d', (text, value) => expect(amountOf(text)).toBe(value));

describe('the examples', () => {
  it.each(examples('pools'))('$file is a pool as the contract says', ({ object }) => {
    expect(ToolchainPool.safeParse(object).error).toBeUndefined();
  });

  it.each(examples('jobs'))('$file is a job as the contract says', ({ object }) => {
    expect(ConversionJob.safeParse(object).error).toBeUndefined();
  });

  it('have a pool for every toolchain', () => {
    const pools = examples('pools').map(({ object }) => ToolchainPool.parse(object));
    expect(new Set(pools.map(toolchainOf))).toEqual(new Set(toolchains));
  });

  it.each(examples('pools'))('$file has memory for all that its workers may use', ({ object }) => {
    const { spec } = ToolchainPool.parse(object);
    const limitBytes = amountOf(spec.resources?.limits?.['memory'] ?? '');
    const settings = loadConfig({ MEMORY_LIMIT: String(limitBytes) }).worker;
    const { conversionBytes, warmBytes, express } = memoryOf(settings, spec.slots, 1);
    const ofExpress = (express?.conversionBytes ?? 0) + (express?.warmBytes ?? 0);
    expect(OWN_BYTES + spec.slots * (conversionBytes + warmBytes) + ofExpress).toBeLessThanOrEqual(limitBytes);
    // LibreOffice and Chromium start in no less.
    expect(express?.conversionBytes).toBeGreaterThanOrEqual(256 * 2 ** 20);
    // Most converters are held to one or two GiB anyway: with less, honest files would fail.
    expect(conversionBytes).toBeGreaterThanOrEqual(2 ** 30);
    expect(amountOf(spec.resources?.requests?.['memory'] ?? '')).toBeLessThanOrEqual(limitBytes);
  });

  it('call tools that there are', () => {
    const called = examples('jobs').flatMap(({ object }) => ConversionJob.parse(object).spec.tool ?? []);
    expect(called.length).toBeGreaterThan(0);
    expect(called.filter((slug) => !tools.some((tool) => tool.slug === slug))).toEqual([]);
  });
});

describe('the rules for autoscalers', () => {
  const read = (file: string) => readFileSync(`manifests/examples/autoscaling/${file}`, 'utf8');
  const { rules } = parse(read('prometheus-adapter.yaml')) as {
    rules: { external: { seriesQuery: string; name: { as: string }; metricsQuery: string }[] };
  };

  const keda = parse(read('keda.yaml')) as { spec: { scaleTargetRef: { name: string }; triggers: { metadata: { query?: string } }[] } };

  it('use series that the controller has, with the label that they select by', async () => {
    const metrics = createControllerMetrics();
    const known = { desired: 1, workers: 1, idle: 1, busy: 0, queued: 2, running: 3, oldestSeconds: 0 };
    metrics.pool('web', known);
    const text = await metrics.text();
    const named = rules.external.flatMap(({ seriesQuery, metricsQuery }) => [seriesQuery, ...(metricsQuery.match(/filemill_\w+/g) ?? [])]);
    expect(new Set(named).size).toBe(2);
    for (const name of named) expect(text).toContain(`${name}{pool="web"} `);
    // Running conversions too: on the waiting ones alone the capacity falls as they start.
    const query = keda.spec.triggers.find(({ metadata }) => metadata.query !== undefined)?.metadata.query ?? '';
    expect(new Set(query.match(/filemill_\w+/g))).toEqual(new Set(named));
    expect(query.match(/pool="\w+"/g)).toEqual([`pool="${keda.spec.scaleTargetRef.name}"`, `pool="${keda.spec.scaleTargetRef.name}"`]);
  });

  it('serve the metric that the HPA scales on', () => expect(read('web.yaml')).toContain(`name: ${rules.external[0]?.name.as}\n`));
});

describe('a ToolchainPool', () => {
  it('knows the toolchains of the table', () => {
    expect(PoolToolchain.options).toEqual(toolchains);
  });

  it.each([
    ['its own word', { toolchain: 'pdf' }, 'image', 'pdf'],
    ['its name', {}, 'image', 'image'],
    ['nothing', {}, 'fast', undefined],
  ] as const)('takes its toolchain from %s', (_, given, name, toolchain) => {
    const spec = ToolchainPoolSpec.parse({ image: 'filemill/image', natsSecretRef: { name: 'nats' }, ...given });
    expect(toolchainOf({ metadata: { name }, spec })).toBe(toolchain);
  });

  it('reads quantities as text, whichever way they are written', () => {
    const spec = ToolchainPoolSpec.parse({
      image: 'filemill/image',
      natsSecretRef: { name: 'nats' },
      resources: { limits: { cpu: 2, memory: '1Gi' } },
    });
    expect(spec.resources?.limits).toEqual({ cpu: '2', memory: '1Gi' });
    expect(spec.workDirSize).toBe('4Gi');
  });
});
