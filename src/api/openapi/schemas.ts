/** The schemas of every answer, from the contracts that the service uses. */
import { z } from 'zod';
import { Batch, BatchEntry } from '../../contracts/api/batch.ts';
import { details } from '../../contracts/api/details.ts';
import { DocumentModel } from '../../contracts/api/document-model.ts';
import { Entry } from '../../contracts/api/entry.ts';
import { FormatEngine, FormatList, FormatSource, FormatStep, FormatTarget, FormatWay } from '../../contracts/api/formats.ts';
import {
  Fidelity,
  Job,
  JobLinks,
  JobOutput,
  NamedOutput,
  OutputDestination,
  PropertyVerdict,
  Receipt,
  TextJob,
  Warning,
  Webhook,
} from '../../contracts/api/job.ts';
import { JobEntry, JobList } from '../../contracts/api/job-list.ts';
import { RecipeList } from '../../contracts/api/recipes.ts';
import { Health, Limits, WebhookKeys } from '../../contracts/api/service.ts';
import { ToolEntry, ToolList, ToolOption } from '../../contracts/api/tools.ts';
import { Upload } from '../../contracts/api/upload.ts';
import { type Code, errorTable, reasonTable } from '../../errors.ts';
import type { Schema } from './shape.ts';
import { schemaRef } from './shape.ts';

const NAMED = {
  Job,
  TextJob,
  JobList,
  JobEntry,
  JobOutput,
  JobLinks,
  Warning,
  OutputDestination,
  Webhook,
  WebhookKeys,
  PropertyVerdict,
  Fidelity,
  Receipt,
  Batch,
  BatchEntry,
  FormatList,
  FormatStep,
  FormatWay,
  FormatSource,
  FormatTarget,
  FormatEngine,
  Entry,
  ToolList,
  ToolEntry,
  ToolOption,
  NamedOutput,
  RecipeList,
  Health,
  Limits,
  Upload,
  DocumentModel,
};

/** `NO_FILE` as `NoFileError`. */
export function errorName(code: Code): string {
  const name = code.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return name.endsWith('Error') ? name : `${name}Error`;
}

export function schemas(): Readonly<Record<string, Schema>> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(NAMED)) registry.add(schema, { id });
  // As input: later versions may add fields to any answer, so additional properties stay allowed.
  const made = z.toJSONSchema(registry, { io: 'input', override: withoutSafeBounds, uri: (id) => `#/components/schemas/${id}` }).schemas;
  const answers = Object.entries(made).map(([name, { $schema: _, $id: __, ...schema }]) => [name, schema as Schema] as const);
  const codes = Object.keys(errorTable) as Code[];
  const errors = codes.map((code) => [errorName(code), errorSchema(code)] as const);
  return { ...Object.fromEntries(answers), ...Object.fromEntries(errors), FailedJob };
}

/** Removes the largest safe integer of JavaScript, which is no limit of ours: a client may declare more bytes, and then gets a refusal. */
function withoutSafeBounds({ jsonSchema }: { jsonSchema: Schema }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}

function errorSchema(code: Code): Schema {
  const { says, retryable } = errorTable[code];
  // For these it depends on the cause.
  const varies = code === 'URL_REFUSED' || code === 'CONVERSION_FAILED' || code === 'OUTPUT_NOT_STORED';
  const shape = z.looseObject({ request_id: z.string(), retryable: z.literal(varies ? [false, true] : [retryable]), ...details[code] });
  const { $schema: _, ...particulars } = z.toJSONSchema(shape, { io: 'input', override: withoutSafeBounds }) as Schema;
  return {
    type: 'object',
    description: says,
    properties: {
      error: {
        type: 'object',
        properties: {
          code: { type: 'string', const: code },
          message: { type: 'string', description: 'A sentence for people' },
          details: code === 'CONVERSION_FAILED' ? withReasons(particulars) : particulars,
        },
        required: ['code', 'message', 'details'],
      },
      ...(code === 'CONVERSION_FAILED' ? { data: schemaRef('FailedJob') } : {}),
    },
    required: ['error'],
  };
}

/** Lists the reasons without an enum: later versions may add some. */
const withReasons = (particulars: Schema): Schema => ({
  ...particulars,
  properties: { ...particulars.properties, reason: { type: 'string', description: `One of ${Object.keys(reasonTable).join(', ')}` } },
});

const FailedJob: Schema = {
  type: 'object',
  properties: {
    job_id: { type: 'string' },
    status: { type: 'string', const: 'error' },
    links: schemaRef('JobLinks'),
    destination: schemaRef('OutputDestination'),
    webhook: schemaRef('Webhook'),
  },
  required: ['job_id', 'status', 'links'],
};
