/** The list of tools as assistants get it: digestible for strict clients, complete, and no other than REST's. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { describeMcpTools } from '../../../src/api/mcp/tools/list.ts';
import { mcpTools } from '../../../src/api/mcp/tools/tools.ts';
import { apiSettings } from '../../../src/api/settings.ts';
import { createCatalog } from '../../../src/catalog/catalog.ts';
import { engines } from '../../../src/catalog/engines.gen.ts';
import { formats } from '../../../src/catalog/formats.ts';
import { optionSchemas } from '../../../src/catalog/options/options.ts';
import type { Absent } from '../../../src/catalog/tool.ts';

const catalog = createCatalog(engines.map((engine) => ({ engine, version: '1' })));
const toolsAt = describeMcpTools(catalog, apiSettings.parse({}));
const tools = toolsAt('https://files.example');
/** As if each AI tool had its model: what the list says of it stands in its file. */
const AI = mcpTools.flatMap(({ slug }) => {
  const [some] = catalog.tools.values();
  return slug === undefined || catalog.tools.has(slug) || some === undefined
    ? []
    : [[slug, { ...some, slug, input: z.object({}) }] as const];
});
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
/** What filemill has beyond the contract. */
const MORE: Readonly<Record<string, readonly string[]>> = {
  convert_files: ['files', 'to_format', 'options'],
  list_tools: ['tool'],
  run_tool: ['tool', 'files', 'options'],
  run_recipe: ['files', 'recipe', 'options'],
  cancel_job: ['job_id'],
};
/** Models read the list with every request: bytes of the answer to `tools/list`. */
const MOST_BYTES = 22_500;

type Schema = Readonly<Record<string, unknown>>;
const properties = (name: string): [string, Schema][] =>
  Object.entries((byName.get(name)?.inputSchema.properties ?? {}) as Record<string, Schema>);

it('has the tools of the contract and few more, with their parameters', () => {
  expect(tools.map(({ name }) => name).sort()).toEqual(Object.keys({ ...CONTRACT, ...MORE }).sort());
  for (const [name, params] of Object.entries({ ...CONTRACT, ...MORE }))
    expect(properties(name).map(([param]) => param)).toEqual(expect.arrayContaining([...params]));
});

it('is short enough to be read with every request, also where every tool is available', () => {
  const answer = (list: readonly object[]) => JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: list } });
  expect(Buffer.byteLength(answer(tools))).toBeLessThanOrEqual(MOST_BYTES);
  const absent = new Map<string, Absent>();
  const all = describeMcpTools({ tools: new Map([...catalog.tools, ...AI]), absent }, apiSettings.parse({}))('https://files.example');
  expect(all.some(({ description }) => description?.includes('Not available'))).toBe(false);
  expect(Buffer.byteLength(answer(all))).toBeLessThanOrEqual(MOST_BYTES);
});

it('begins what cannot be called here with that, and says why', () => {
  for (const { name, slug } of mcpTools) {
    const isAbsent = slug !== undefined && catalog.absent.has(slug);
    expect(byName.get(name)?.description?.startsWith('Not available on this server ('), name).toBe(isAbsent);
  }
});

it('describes the property that is called as a keyword of JSON Schema is', () => {
  expect(byName.get('list_supported_formats')?.outputSchema).toMatchObject({
    properties: { targets: { items: { properties: { format: { type: 'string' } } } } },
  });
});

it.each([
  [1, 'one file'],
  [20, '1 to 20 files'],
  [100, '1 to 100 files'],
])('takes as many files in one call of convert_files as a batch may have: %i', (maxBatchFiles, words) => {
  const list = describeMcpTools(catalog, apiSettings.parse({ maxBatchFiles }))('https://files.example');
  const convertFiles = list.find(({ name }) => name === 'convert_files');
  expect(convertFiles?.description).toContain(`Converts ${words} to`);
  expect(convertFiles?.inputSchema.properties).toMatchObject({ files: { maxItems: maxBatchFiles } });
});

it('takes as many files in run_tool as the tool that takes most', () => {
  const files = new Map(properties('run_tool')).get('files');
  expect(files?.['maxItems']).toBe(Math.max(...[...catalog.tools.values()].map((tool) => tool.files.max)));
  expect(files?.['maxItems']).toBeGreaterThanOrEqual(catalog.tools.get('gif-maker')?.files.max ?? Number.NaN);
});

it('takes every option of a conversion', () => {
  expect(properties('convert_file').map(([name]) => name)).toEqual(expect.arrayContaining(Object.keys(optionSchemas)));
});

it('calls nothing that REST does not know', () => {
  const known = [...catalog.tools.keys(), ...catalog.absent.keys()];
  for (const { slug, shape = {}, params } of mcpTools) {
    if (slug === undefined) continue;
    expect(known).toContain(slug);
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
    expect(tool.title).toMatch(/^[A-Z][A-Za-z]+( [A-Za-z]+){1,2}$/);
    const { readOnlyHint, openWorldHint, destructiveHint } = tool.annotations ?? {};
    expect([typeof readOnlyHint, typeof openWorldHint]).toEqual(['boolean', 'boolean']);
    // It means nothing for a tool that only reads.
    expect(typeof destructiveHint).toBe(readOnlyHint ? 'undefined' : 'boolean');
    expect(tool.outputSchema).toMatchObject({ type: 'object', properties: expect.any(Object) });
    expect(JSON.stringify([tool.inputSchema, tool.outputSchema])).not.toMatch(/"(\$ref|\$defs|oneOf|anyOf|allOf|not|if|\$schema|const)"/);
  });

  it('takes a flat object whose every value is bounded and explained', () => {
    const { type, required, ...rest } = tool.inputSchema;
    expect([type, Object.keys(rest)]).toEqual(['object', ['properties']]);
    expect(properties(name).map(([param]) => param)).toEqual(expect.arrayContaining([...(required ?? [])]));
    for (const [param, schema] of properties(name)) {
      expect(param).toMatch(/^[a-z0-9_]{1,64}$/);
      expect(schema['description'], param).toMatch(/^[A-Z0-9j].{5,}/);
      expect(lint(schema), `${name}.${param}`).toEqual([]);
    }
  });
});

const KEYS: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'enum', 'default'],
  integer: ['minimum', 'maximum', 'default'],
  number: ['minimum', 'maximum', 'default'],
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
    (['integer', 'number'].includes(type) && (schema['minimum'] === undefined || schema['maximum'] === undefined)) ||
    (type === 'array' && schema['maxItems'] === undefined);
  const repeats = /\bDefault \S+\.$|\b(?:integer|number), -?\d/.test(String(schema['description']));
  const words = ((schema['enum'] as unknown[]) ?? []).filter((word) => typeof word !== 'string');
  return [
    ...strange,
    ...(unbounded ? ['no bounds'] : []),
    ...(repeats ? ['words that repeat the schema'] : []),
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
    description: expect.stringContaining('kbit/s'),
  });
  expect(of('get_job_status', 'wait_seconds')).toMatchObject({ minimum: 0, maximum: 25, default: 20 });
  expect(of('merge_pdfs', 'files')).toMatchObject({ minItems: 2, maxItems: 20 });
  expect(of('convert_file', 'file')?.['description']).toContain('https://files.example/api/v1/uploads');
});

it('is not made again for each host name that clients use', () => {
  const quality = (base: string) => toolsAt(base)[0]?.inputSchema.properties?.['img_quality'];
  expect(quality('https://one.example')).toBe(quality('https://two.example'));
  expect(toolsAt('https://one.example')[1]).toBe(toolsAt('https://two.example')[1]);
});
