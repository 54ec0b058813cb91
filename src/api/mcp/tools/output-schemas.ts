/** What `structuredContent` holds, as JSON Schema without what only some clients know. */
import { z } from 'zod';
import { Job } from '../../../contracts/api/job.ts';
import type { Tool } from '../protocol/protocol.ts';

type OutputSchema = NonNullable<Tool['outputSchema']>;

/** Fields may be added: what is not named is allowed. */
const DROPPED = new Set(['$schema', 'additionalProperties', 'format', 'pattern', 'propertyNames']);

/** Every nested schema has exactly one type: there are no unions. */
const simple = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(simple);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) => (DROPPED.has(key) || isAnyInteger(key, value) ? [] : [[key, simple(value)]])),
  );
};

/** Removes the bounds that zod writes for every integer. */
const isAnyInteger = (key: string, value: unknown): boolean =>
  (key === 'minimum' || key === 'maximum') && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER;

const outputOf = (schema: z.ZodObject): OutputSchema => simple(z.toJSONSchema(schema, { io: 'output' })) as OutputSchema;

export const JOB_OUTPUT = outputOf(Job);

export const Formats = z.object({
  families: z
    .array(
      z.object({
        family: z.string(),
        sources: z.array(z.string()).describe('Formats that can be read'),
        targets: z.array(z.string()).describe('Formats that at least one of them can be converted into'),
      }),
    )
    .optional()
    .describe('Without source'),
  source: z.string().optional(),
  targets: z
    .array(
      z.object({
        format: z.string(),
        options: z.array(z.string()).describe('Options of convert_file that have an effect'),
        loses: z.array(z.string()).describe('What the result lacks'),
      }),
    )
    .optional()
    .describe('With source'),
  tools: z.array(z.object({ name: z.string(), available: z.boolean(), reason: z.string().optional() })),
});
export type Formats = z.infer<typeof Formats>;

export const FORMATS_OUTPUT = outputOf(Formats);
