/** The list of tools as assistants get it: digestible for strict clients, complete, and no other than REST's. */
import { describe, expect, it } from 'vitest';
import { mcpSettings } from '../../src/api/mcp/settings.ts';
import { describeMcpTools } from '../../src/api/mcp/tools/list.ts';
import { mcpTools } from '../../src/api/mcp/tools/tools.ts';
import { createCatalog } from '../../src/catalog/catalog.ts';
import { engines } from '../../src/catalog/engines.gen.ts';
import { formats } from '../../src/catalog/formats.ts';
import { optionSchemas } from '../../src/catalog/options/options.ts';

const catalog = createCatalog(engines.map((engine) => ({ engine, version: '1' })));
const toolsAt = describeMcpTools(catalog, mcpSettings.parse({}));
const tools = toolsAt('https://files.example');
const byName = new Map(tools.map((tool) => [tool.name, tool]));

/** The contract's, with the parameters that it names. */
const CONTRACT: Readonly<Record<string, readonly string[]>> = {
  convert_file: ['file', 'to_format', 'img_quality', 'img_resize_w', 'img_resize_h'],
  upscale_image: ['file', 'scale', 'model'],
  remove_background: ['file'],
  colorize_photo: ['file'],
  restore_old_photo: ['file'],
  enhance_photo: ['file'],
  vocal_remover: ['file'],
  speech_to_text: ['file', 'format', 'language'],
  noise_reduction: ['file'],
  resize_image: ['file', 'width', 'height'],
  compress_image: ['file', 'quality'],
  compress_pdf: ['file', 'quality'],
  merge_pdfs: ['files'],
  get_job_status: ['job_id', 'wait_seconds'],
  list_supported_formats: ['source', 'family'],
};

type Schema = Readonly<Record<string, unknown>>;
const properties = (name: string): [string, Schema][] =>
  Object.entries((byName.get(name)?.inputSchema.properties ?? {}) as Record<string, Schema>);

it('has the tools of the contract and no more, with their parameters', () => {
  expect(tools.map(({ name }) => name)).toEqual(Object.keys(CONTRACT));
  for (const [name, params] of Object.entries(CONTRACT))
    expect(properties(name).map(([param]) => param)).toEqual(expect.arrayContaining([...params]));
});

it('takes every option of a conversion', () => {
  expect(properties('convert_file').map(([name]) => name)).toEqual(expect.arrayContaining(Object.keys(optionSchemas)));
});

it('calls nothing that REST does not know', () => {
  const known = [...catalog.tools.keys(), ...catalog.absent.keys()];
  for (const { slug, params } of mcpTools) {
    if (slug === undefined) continue;
    expect(known).toContain(slug);
    const shape = catalog.tools.get(slug)?.input.shape;
    if (shape !== undefined)
      expect(Object.keys(shape), slug).toEqual(expect.arrayContaining(Object.values(params).map(({ field }) => field)));
  }
});

it('names every family of formats', () => {
  const listed = new Map(properties('list_supported_formats')).get('family')?.['enum'] as string[];
  expect([...listed].sort()).toEqual([...new Set([...formats.values()].map(({ family }) => family))].sort());
});

describe.each([...byName])('%s', (name, tool) => {
  it('has a title, a description, what it may do, and a result with an object at its root', () => {
    expect(name).toMatch(/^[a-z_]{1,64}$/);
    expect(tool.title?.length).toBeGreaterThan(4);
    expect(tool.description?.length).toBeLessThan(500);
    expect(Object.keys(tool.annotations ?? {}).sort()).toEqual([
      'destructiveHint',
      'idempotentHint',
      'openWorldHint',
      'readOnlyHint',
      'title',
    ]);
    expect(tool.outputSchema).toMatchObject({ type: 'object', properties: expect.any(Object) });
    expect(JSON.stringify([tool.inputSchema, tool.outputSchema])).not.toMatch(/"(\$ref|\$defs|oneOf|anyOf|allOf|not|if|\$schema|const)"/);
  });

  it('takes a flat object whose every value is bounded and explained', () => {
    const { type, required, ...rest } = tool.inputSchema;
    expect([type, Object.keys(rest)]).toEqual(['object', ['properties']]);
    expect(properties(name).map(([param]) => param)).toEqual(expect.arrayContaining([...(required ?? [])]));
    for (const [param, schema] of properties(name)) {
      expect(param).toMatch(/^[a-z0-9_]{1,64}$/);
      expect(schema['description'], param).toMatch(/^[A-Z0-9j].{9,}/);
      expect(lint(schema), `${name}.${param}`).toEqual([]);
    }
  });
});

const KEYS: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'enum', 'default'],
  integer: ['minimum', 'maximum', 'default'],
  boolean: ['default'],
  array: ['items', 'minItems', 'maxItems'],
};

/** What a strict client would stumble over. */
function lint(schema: Schema): string[] {
  const type = String(schema['type']);
  const allowed = KEYS[type];
  if (allowed === undefined) return [`type ${type}`];
  const strange = Object.keys(schema).filter((key) => !['type', 'description', ...allowed].includes(key));
  const unbounded =
    (type === 'string' && schema['enum'] === undefined && schema['maxLength'] === undefined) ||
    (type === 'integer' && (schema['minimum'] === undefined || schema['maximum'] === undefined)) ||
    (type === 'array' && schema['maxItems'] === undefined);
  const preset = schema['default'];
  const silent = preset !== undefined && !String(schema['description']).includes(`${preset}`);
  const words = ((schema['enum'] as unknown[]) ?? []).filter((word) => typeof word !== 'string');
  return [
    ...strange,
    ...(unbounded ? ['no bounds'] : []),
    ...(silent ? ['a default that is not told'] : []),
    ...(words.length > 0 ? ['a list of other things than words'] : []),
    ...(type === 'array' ? lint(schema['items'] as Schema) : []),
  ];
}

it('tells bounds, units and defaults as they are', () => {
  const of = (name: string, param: string) => new Map(properties(name)).get(param);
  expect(of('resize_image', 'width')).toMatchObject({
    type: 'integer',
    minimum: 16,
    maximum: 7680,
    description: expect.stringContaining('px'),
  });
  expect(of('compress_image', 'quality')).toMatchObject({ minimum: 0, maximum: 100, default: 80 });
  expect(of('compress_pdf', 'quality')).toMatchObject({ minimum: 0, maximum: 100, default: 50 });
  expect(of('convert_file', 'mp3_bitrate')).toMatchObject({
    minimum: 32,
    maximum: 320,
    default: 192,
    description: expect.stringContaining('kbit/s'),
  });
  expect(of('get_job_status', 'wait_seconds')).toMatchObject({ minimum: 0, maximum: 25, default: 20 });
  expect(of('merge_pdfs', 'files')).toMatchObject({ minItems: 2, maxItems: 20 });
  expect(of('convert_file', 'file')?.['description']).toContain('https://files.example/api/v1/uploads');
});

it('is not made anew for each host that is asked by', () => {
  const quality = (base: string) => toolsAt(base)[0]?.inputSchema.properties?.['img_quality'];
  expect(quality('https://one.example')).toBe(quality('https://two.example'));
});
