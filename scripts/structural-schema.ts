/** What zod says as JSON Schema, cut to the structural schemas that the Kubernetes API takes. */
import { z } from 'zod';
import { API_VERSION } from '../src/contracts/kubernetes/resource.ts';

export interface Schema {
  readonly [keyword: string]: unknown;
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
}

/** @returns the structural schema of a whole object; its metadata is the server's */
export function rootSchema(schema: z.ZodType): Schema {
  const { properties, ...root } = structural(z.toJSONSchema(schema, { io: 'input' }) as Schema);
  const { name } = properties?.['metadata']?.properties ?? {};
  const envelope = {
    apiVersion: { type: 'string', description: `Group and version of the schema: ${API_VERSION}` },
    kind: { type: 'string', description: 'Kind of the resource' },
    // A definition may say nothing of metadata but what a name is.
    metadata: { type: 'object', ...(name?.['pattern'] === undefined ? {} : { properties: { name } }) },
  };
  return { ...root, required: ['spec'], properties: { ...properties, ...envelope } };
}

/** Keywords of JSON Schema that no structural schema may have, or that say what the type says already. */
const FOREIGN = ['$schema', 'propertyNames', 'const', 'anyOf'];

/** One object schema after the other, from the outside in. */
function structural(schema: Schema): Schema {
  const { description, type, properties, items, additionalProperties: values, pattern, ...rest } = schema;
  // A date's format, and a text's own rule, say better what the expression checks.
  const isSaid = rest['format'] === 'date-time' || rest['x-kubernetes-validations'] !== undefined;
  const isOpen = typeof values === 'object' && Object.keys(values).length === 0;
  return {
    ...(description !== undefined && { description }),
    ...(type !== undefined && { type }),
    ...Object.fromEntries(Object.entries(rest).filter(([keyword]) => !FOREIGN.includes(keyword))),
    ...(pattern !== undefined && !isSaid && { pattern }),
    ...(isOpen && { 'x-kubernetes-preserve-unknown-fields': true }),
    ...(typeof values === 'object' && !isOpen && { additionalProperties: structural(values) }),
    ...(items !== undefined && { items: structural(items) }),
    ...(properties !== undefined && Object.keys(properties).length > 0 && { properties: each(properties, structural) }),
  };
}

const each = <Value>(object: Readonly<Record<string, Value>>, change: (value: Value) => Value): Record<string, Value> =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
