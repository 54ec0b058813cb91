/** What `structuredContent` holds, as short JSON Schemas without what only some clients know. Each tool repeats its own, so they name the fields that a caller needs. */
import { z } from 'zod';
import { Job, JobOutput } from '../../../contracts/api/job.ts';
import type { Tool } from '../protocol/protocol.ts';

type OutputSchema = NonNullable<Tool['outputSchema']>;

/** Fields may be added: what is not named is allowed. */
const DROPPED = new Set(['$schema', 'additionalProperties', 'description', 'format', 'pattern', 'propertyNames', 'minimum', 'maximum']);

/** Every nested schema has exactly one type: there are no unions. */
const simple = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(simple);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) => {
      // The keys below `properties` are names of fields, not keywords.
      if (key === 'properties') return [[key, Object.fromEntries(Object.entries(value as object).map(([name, of]) => [name, simple(of)]))]];
      return DROPPED.has(key) ? [] : [[key, simple(value)]];
    }),
  );
};

const outputOf = (schema: z.ZodObject): OutputSchema => simple(z.toJSONSchema(schema, { io: 'output' })) as OutputSchema;

/** A job as in REST; these are the fields that lead on. */
const JobAnswer = z.object({
  ...Job.pick({ job_id: true }).shape,
  status: z.string(),
  output: JobOutput.pick({ url: true }).partial().optional(),
});
export const JOB_OUTPUT = outputOf(JobAnswer);

/** A text result, or a part of it, stands beside the job. */
const TextPart = { text: z.string().optional(), next_text_offset: z.number().int().optional() };
export const TEXT_JOB_OUTPUT = outputOf(JobAnswer.extend(TextPart));

/** Schema of the answer about a job or a batch. */
export const STATUS_OUTPUT = outputOf(JobAnswer.partial().extend({ ...TextPart, batch_id: z.string().optional() }));

export const BATCH_OUTPUT = outputOf(
  z.object({
    batch_id: z.string(),
    overall_status: z.enum(['processing', 'done', 'failed']),
    jobs: z.array(z.looseObject({})),
    links: z.object({ output: z.string().optional() }),
  }),
);

export const CANCEL_OUTPUT = outputOf(z.object({ cancelled: z.boolean() }));

const Formats = z.object({
  families: z
    .array(
      z.object({
        family: z.string(),
        sources: z.array(z.string()),
        unproven: z.array(z.string()).optional(),
        targets: z.array(z.string()),
      }),
    )
    .optional(),
  source: z.string().optional(),
  targets: z.array(z.object({ format: z.string(), options: z.array(z.string()), loses: z.array(z.string()) })).optional(),
  tools: z.array(z.object({ name: z.string(), available: z.boolean(), reason: z.string().optional() })),
});
export type Formats = z.infer<typeof Formats>;
export const FORMATS_OUTPUT = outputOf(
  z.object({
    families: z.array(z.looseObject({})).optional(),
    targets: z.array(z.object({ format: z.string().optional() })).optional(),
    tools: z.array(z.looseObject({})),
  }),
);

export const TOOLS_OUTPUT = outputOf(z.object({ tools: z.array(z.object({ tool: z.string().optional() })) }));
