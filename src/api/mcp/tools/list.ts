/** The tools as `tools/list` tells of them: flat schemas with bounds, units and presets, which strict clients take too. */

import type { z } from 'zod';
import type { Catalog } from '../../../catalog/catalog.ts';
import { fieldSchema, type Schema } from '../../../catalog/options/field-schema.ts';
import { optionSchemas } from '../../../catalog/options/options.ts';
import { families } from '../../../contracts/toolchains.ts';
import { humanSize } from '../../jobs/view.ts';
import type { Tool } from '../protocol/protocol.ts';
import type { McpSettings } from '../settings.ts';
import { FORMATS_OUTPUT, JOB_OUTPUT } from './output-schemas.ts';
import type { McpTool, Param } from './tool.ts';
import { mcpTools } from './tools.ts';

export const JOB_STATUS = 'get_job_status';
export const LIST_FORMATS = 'list_supported_formats';

/** @returns the tools as described to clients of this base URL: only the texts that contain it are built for each */
export function describeMcpTools(catalog: Pick<Catalog, 'tools'>, settings: McpSettings): (base: string) => readonly Tool[] {
  const ours = mcpTools.map((tool) => describe(catalog, tool, settings));
  return (base) => [...ours.map((toolAt) => toolAt(base)), jobStatus, listFormats];
}

function describe(catalog: Pick<Catalog, 'tools'>, tool: McpTool, settings: McpSettings): (base: string) => Tool {
  const { name, title, description, slug, params, files } = tool;
  const shape: Readonly<Record<string, z.ZodType>> = slug === undefined ? optionSchemas : (catalog.tools.get(slug)?.input.shape ?? {});
  const entries = Object.entries(params).map(([param, says]) => [param, paramSchema(says, shape[says.field])]);
  const known: NonNullable<Tool['inputSchema']['properties']> = Object.fromEntries(entries);
  const required = [
    files === 'one' ? 'file' : 'files',
    ...Object.entries(params).flatMap(([param, says]) => (says.required ? [param] : [])),
  ];
  // A call creates a new file and changes none; it may fetch URLs.
  const annotations = { title, readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true };
  return (base) => {
    const inputSchema: Tool['inputSchema'] = {
      type: 'object',
      properties: { ...(fileSchemas(files, settings, base) as typeof known), ...known },
      required,
    };
    return { name, title, description, inputSchema, outputSchema: JOB_OUTPUT, annotations };
  };
}

const shapeless = ['pattern', 'format', '$schema'];

/** The catalog gives the bounds. An enum of numbers becomes a minimum and a maximum: strict clients accept enums of strings only. */
function paramSchema({ means, preset, schema }: Param, field: z.ZodType | undefined): Schema {
  const { description, ...rules } = field === undefined ? (schema ?? {}) : fieldSchema(field);
  const { enum: values, ...bounds } = rules;
  const numbers = values?.filter((value) => typeof value === 'number') ?? [];
  const listed =
    numbers.length > 0 ? { minimum: Math.min(...numbers), maximum: Math.max(...numbers) } : values === undefined ? {} : { enum: values };
  const takes = description === undefined || bounds.type === 'boolean' ? [] : [`Takes ${description}.`];
  const said = [means, ...takes, ...(preset === undefined ? [] : [`Default ${preset}.`])].join(' ');
  const kept = Object.fromEntries(Object.entries({ ...bounds, ...listed }).filter(([key]) => !shapeless.includes(key)));
  const text = bounds.type === 'string' && values === undefined && bounds.maxLength === undefined ? { maxLength: MAX_TEXT } : {};
  return { ...kept, ...text, description: said, ...(preset === undefined ? {} : { default: preset }) };
}

/** Of an option, characters. */
const MAX_TEXT = 500;

function fileSchemas(
  files: McpTool['files'],
  { maxInlineBytes, maxRequestBytes }: McpSettings,
  base: string,
): Readonly<Record<string, Schema>> {
  const says = `one of: an https URL, which the service fetches; base64 or a data: URI of the content, at most ${humanSize(maxInlineBytes)}; an upload id; the URL of an earlier output of this service. A path on somebody's machine cannot be read: send such a file with curl -F file=@PATH ${base}/api/v1/uploads and give the upload_id of the answer.`;
  const filename: Schema = {
    type: 'string',
    minLength: 1,
    maxLength: 255,
    description:
      'Name of the file with its extension, useful with base64: results are named after it, and its extension distinguishes kinds of text. Default: the name in the URL or of the upload.',
  };
  const text: Schema = { type: 'string', minLength: 1, maxLength: maxRequestBytes };
  if (files === 'one') return { file: { ...text, description: `The file, ${says}` }, filename };
  return {
    files: { type: 'array', minItems: 2, maxItems: 20, items: text, description: `2 to 20 files in order, each ${says}` },
    filename,
  };
}

const readOnly = (title: string) => ({ title, readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false });

const jobStatus: Tool = {
  name: JOB_STATUS,
  title: 'Get the status of a job',
  description: 'Returns the state of an earlier call that answered processing, and its result once it is done. Free.',
  inputSchema: {
    type: 'object',
    properties: {
      job_id: { type: 'string', minLength: 32, maxLength: 32, description: 'job_id of the earlier answer: 32 hex digits.' },
      wait_seconds: {
        type: 'integer',
        minimum: 0,
        maximum: 25,
        default: 20,
        description: 'How many seconds to wait for the job to end before answering that it is still processing. Default 20.',
      },
    },
    required: ['job_id'],
  },
  outputSchema: JOB_OUTPUT,
  annotations: readOnly('Get the status of a job'),
};

const listFormats: Tool = {
  name: LIST_FORMATS,
  title: 'List formats and tools',
  description:
    'Lists which formats can be converted into which, and which tools are available here. Free. Give source to see all targets of one format with their options.',
  inputSchema: {
    type: 'object',
    properties: {
      source: { type: 'string', maxLength: 16, description: 'Extension of a source format, as docx: lists only its targets.' },
      family: {
        type: 'string',
        enum: [...families],
        description: 'Only sources of this family.',
      },
    },
    required: [],
  },
  outputSchema: FORMATS_OUTPUT,
  annotations: readOnly('List formats and tools'),
};
