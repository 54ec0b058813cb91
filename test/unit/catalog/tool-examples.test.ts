/** What each tool's file gives as an example is taken by the tool, and shown in the API's document. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readInput } from '../../../src/catalog/tool.ts';
import { tools } from '../../../src/catalog/tools.ts';

type Schemas = Readonly<Record<string, z.core.JSONSchema.JSONSchema>>;
const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));
const fieldsIn = (slug: string): Schemas =>
  paths[`/api/v1/tools/${slug}`].post.requestBody.content['multipart/form-data'].schema.properties;

const withFields = tools.filter(({ input }) => Object.keys(input.shape).length > 0);

describe.each(withFields)('$slug', (tool) => {
  const example = tool.example ?? {};

  it('takes its example', () => {
    expect(Object.keys(example).length).toBeGreaterThan(0);
    expect(readInput(tool, new Map(Object.entries(example)))).toHaveProperty(Object.keys(example)[0] ?? '');
  });

  it('shows it, as a value that its field has', () => {
    for (const name of Object.keys(example)) {
      const { examples, ...schema } = fieldsIn(tool.slug)[name] ?? {};
      expect(examples, name).toHaveLength(1);
      expect(z.fromJSONSchema(schema).safeParse(examples?.[0]).error, name).toBeUndefined();
    }
  });
});

it('tools without fields have none', () =>
  expect(tools.filter((tool) => !withFields.includes(tool) && tool.example !== undefined)).toEqual([]));
