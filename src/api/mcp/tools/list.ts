/** The tools as `tools/list` describes them: flat schemas with bounds, which strict clients take too, and each text once, because models read the list with every request. */

import type { z } from 'zod';
import { MAX_FILES } from '../../../catalog/bounds.ts';
import type { Catalog } from '../../../catalog/catalog.ts';
import { fieldSchema, type Schema } from '../../../catalog/options/field-schema.ts';
import { optionSchemas } from '../../../catalog/options/options.ts';
import { families } from '../../../contracts/toolchains.ts';
import { OUTPUT_URL, WEBHOOK_URL } from '../../intake/receive.ts';
import { humanSize } from '../../jobs/view.ts';
import type { ApiSettings } from '../../settings.ts';
import type { Tool } from '../protocol/protocol.ts';
import type { McpSettings } from '../settings.ts';
import { BATCH_OUTPUT, CANCEL_OUTPUT, FORMATS_OUTPUT, JOB_OUTPUT, STATUS_OUTPUT, TEXT_JOB_OUTPUT, TOOLS_OUTPUT } from './output-schemas.ts';
import type { McpTool, Param } from './tool.ts';
import { mcpTools } from './tools.ts';

export const JOB_STATUS = 'get_job_status';
export const LIST_FORMATS = 'list_supported_formats';
export const CONVERT_FILES = 'convert_files';
export const LIST_TOOLS = 'list_tools';
export const RUN_TOOL = 'run_tool';
export const RUN_RECIPE = 'run_recipe';
export const CANCEL_JOB = 'cancel_job';

/** Asks for the resulting picture in the answer. */
export const INCLUDE_IMAGE = 'include_image';

type Known = Pick<Catalog, 'tools' | 'absent'>;
type Properties = NonNullable<Tool['inputSchema']['properties']>;

/** @returns the tools as described to clients of this base URL: only the texts that contain it are built for each */
export function describeMcpTools(
  catalog: Known,
  { mcp, maxBatchFiles }: Pick<ApiSettings, 'mcp' | 'maxBatchFiles'>,
): (base: string) => readonly Tool[] {
  const [convert, ...others] = mcpTools.map((tool) => describe(catalog, tool, mcp));
  const more = [...others, convertFiles(mcp, maxBatchFiles), LISTS_TOOLS, runTool(catalog), runRecipe(mcp, maxBatchFiles), ...OWN];
  return (base) => (convert === undefined ? more : [withWays(convert, mcp, base), ...more]);
}

/** Why a tool cannot be called here; undefined where it can. */
export function whyAbsent({ tools, absent }: Known, slug: string | undefined): string | undefined {
  if (slug === undefined || tools.has(slug)) return undefined;
  return absent.get(slug)?.reason ?? 'it is not installed';
}

// A call creates a new file and changes none; it may fetch URLs.
const CREATES = { readOnlyHint: false, destructiveHint: false, openWorldHint: true };
const READS = { readOnlyHint: true, openWorldHint: false };

function describe(catalog: Known, tool: McpTool, settings: McpSettings): Tool {
  const { name, title, description, slug, shape = optionSchemas, params, files, shows } = tool;
  const fields: Readonly<Record<string, z.ZodType>> = shape;
  const entries = Object.entries(params).map(([param, says]) => [param, paramSchema(says, fields[says.field])]);
  const known: Properties = Object.fromEntries(entries);
  const required = [
    files === 'one' ? 'file' : 'files',
    ...Object.entries(params).flatMap(([param, says]) => (says.required ? [param] : [])),
  ];
  const missing = whyAbsent(catalog, slug);
  return {
    name,
    title,
    // First, so that no model reads on: it stays listed, because clients know the contract's tools by name.
    description: missing === undefined ? description : `Not available on this server (${missing}). ${description}`,
    inputSchema: {
      type: 'object',
      properties: {
        ...(fileSchemas(files, settings) as Properties),
        ...known,
        ...(shows ? (SHOWS as Properties) : {}),
      },
      required,
    },
    outputSchema: slug === undefined ? TEXT_JOB_OUTPUT : JOB_OUTPUT,
    annotations: CREATES,
  };
}

const shapeless = ['pattern', 'format', '$schema', 'minLength'];

/** A longer list, such as that of languages, is left out: the refusal of a wrong value has it. */
const MOST_VALUES = 30;

/** The catalog gives the bounds. An enum of numbers becomes a minimum and a maximum: strict clients accept enums of strings only. */
function paramSchema({ means, preset, schema }: Param, field: z.ZodType | undefined): Schema {
  const { description, ...rules } = field === undefined ? (schema ?? {}) : fieldSchema(field);
  const { enum: values, ...bounds } = rules;
  const numbers = values?.filter((value) => typeof value === 'number') ?? [];
  const isShort = values !== undefined && values.length <= MOST_VALUES;
  const listed = numbers.length > 0 ? { minimum: Math.min(...numbers), maximum: Math.max(...numbers) } : isShort ? { enum: values } : {};
  const said = withWords(means, description ?? '', bounds.type, numbers.length > 0, values !== undefined);
  const kept = Object.fromEntries(Object.entries({ ...bounds, ...listed }).filter(([key]) => !shapeless.includes(key)));
  const text = bounds.type === 'string' && !isShort && bounds.maxLength === undefined ? { maxLength: MAX_TEXT } : {};
  return { ...kept, ...text, description: said, ...(preset === undefined ? {} : { default: preset }) };
}

/** Adds what an option's words say beyond its schema: units, and how a text is written. */
function withWords(means: string, words: string, type: unknown, lists: boolean, isEnum: boolean): string {
  if (words === '' || type === 'boolean' || (isEnum && !lists)) return means;
  const range = /^(?:integer|number), -?\d{1,9} to -?\d{1,9}/.exec(words)?.[0];
  if (range === undefined || lists) return `${means} ${sentence(words)}`;
  const unit = words.slice(range.length).trim();
  if (unit.startsWith(':')) return `${means} ${sentence(unit.slice(1).trim())}`;
  // Behind what it is the unit of: Width (px). Alone …
  return unit === '' ? means : means.replace('.', unit.startsWith('(') ? ` ${unit}.` : ` (${unit}).`);
}

const sentence = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;

/** Length of an option, characters. */
const MAX_TEXT = 500;

/** Every tool that creates a job takes it; it is described where a model reads first. */
const MESSAGE: Readonly<Record<string, Schema>> = {
  [WEBHOOK_URL]: { type: 'string', maxLength: 2_048, description: 'Gets the job at its end (https).' },
};

/** Every tool that makes one result takes it, with `output_headers`: said once, since the list is read with every request. */
const DESTINATION: Readonly<Record<string, Schema>> = {
  [OUTPUT_URL]: { type: 'string', maxLength: 3_072, description: 'Any tool: presigned URL for its PUT.' },
};

/** The ways to give a file are told once, in the tool that is listed first. */
const AS_IN_CONVERT_FILE = 'As in convert_file.';

const SHOWS: Readonly<Record<string, Schema>> = { [INCLUDE_IMAGE]: { type: 'boolean', description: AS_IN_CONVERT_FILE } };

function fileSchemas(files: McpTool['files'], { maxRequestBytes }: McpSettings): Readonly<Record<string, Schema>> {
  const text: Schema = { type: 'string', maxLength: maxRequestBytes };
  if (files === 'one') return { file: { ...text, description: AS_IN_CONVERT_FILE } };
  return {
    files: { type: 'array', minItems: 2, maxItems: MAX_FILES, items: text, description: 'In order; each as "file" in convert_file.' },
  };
}

function withWays(tool: Tool, { maxInlineBytes, maxRequestBytes }: McpSettings, base: string): Tool {
  const file: Schema = {
    type: 'string',
    maxLength: maxRequestBytes,
    description: `An https URL (the server fetches it), an upload_id, the output URL of an earlier call, or the content as base64 or a data: URI, up to ${humanSize(maxInlineBytes)}. A local path cannot be read: run curl -F file=@PATH ${base}/api/v1/uploads and give the upload_id of its answer.`,
  };
  const filename: Schema = {
    type: 'string',
    maxLength: 255,
    description: 'Name with extension, for base64: it names the result, and shows the kind of a text.',
  };
  const image: Schema = { type: 'boolean', description: 'Also show the resulting image in the answer, up to 512 KB.' };
  const properties = { ...tool.inputSchema.properties, file, filename, [INCLUDE_IMAGE]: image, ...MESSAGE, ...DESTINATION } as Properties;
  return { ...tool, inputSchema: { ...tool.inputSchema, properties } };
}

/** One text, because strict clients take no objects with unnamed fields. */
const options = (means: string): Schema => ({
  type: 'string',
  maxLength: 8_192,
  description: `${means}, as a JSON object in a string, such as {"pages":"2-4"}.`,
});

const someFiles = (maxItems: number, maxLength: number, description: string): Schema => ({
  type: 'array',
  minItems: 1,
  maxItems,
  items: { type: 'string', maxLength },
  description,
});

const convertFiles = ({ maxRequestBytes }: McpSettings, maxFiles: number): Tool => ({
  name: CONVERT_FILES,
  title: 'Convert files',
  description: `Converts ${maxFiles === 1 ? 'one file' : `1 to ${maxFiles} files`} to one format, and returns a ZIP of all results.`,
  inputSchema: {
    type: 'object',
    properties: {
      files: someFiles(maxFiles, maxRequestBytes, 'Each as "file" in convert_file.'),
      to_format: { type: 'string', maxLength: 16, description: 'Extension of the target format.' },
      options: options('Options of convert_file for all files'),
      ...MESSAGE,
    } as Properties,
    required: ['files', 'to_format'],
  },
  outputSchema: BATCH_OUTPUT,
  annotations: CREATES,
});

const id = (means: string): Schema => ({ type: 'string', maxLength: 32, description: means });

const LISTS_TOOLS: Tool = {
  name: LIST_TOOLS,
  title: 'List tools',
  description:
    'Lists more tools, for run_tool: split a PDF, remove pages, set or remove a PDF password, watermark, blur or crop an image, merge, compress or reverse video, make a GIF, and others. Give tool for its options. Free.',
  inputSchema: {
    type: 'object',
    properties: { tool: { type: 'string', maxLength: 64, description: 'One tool, such as split-pdf, with its options.' } },
    required: [],
  },
  outputSchema: TOOLS_OUTPUT,
  annotations: READS,
};

/** Each tool refuses what is too many for it: the bound here is that of the tool that takes most. */
const runTool = ({ tools }: Known): Tool => ({
  name: RUN_TOOL,
  title: 'Run tool',
  description: 'Runs one of the tools that list_tools names.',
  inputSchema: {
    type: 'object',
    properties: {
      tool: { type: 'string', maxLength: 64, description: 'Its name, such as split-pdf.' },
      files: someFiles(
        Math.max(1, ...[...tools.values()].map(({ files }) => files.max)),
        1 << 24,
        'Each as "file" in convert_file; one, unless the tool takes several. For webpage-to-pdf the URL of the page.',
      ),
      options: options('Options of the tool'),
      ...MESSAGE,
      ...SHOWS,
    } as Properties,
    required: ['tool', 'files'],
  },
  outputSchema: TEXT_JOB_OUTPUT,
  annotations: CREATES,
});

const runRecipe = ({ maxRequestBytes }: McpSettings, maxFiles: number): Tool => ({
  name: RUN_RECIPE,
  title: 'Run recipe',
  description: 'Runs several steps as one job: conversions and tools, each on the files or on what earlier steps made.',
  inputSchema: {
    type: 'object',
    properties: {
      files: someFiles(maxFiles, maxRequestBytes, 'Each as "file" in convert_file.'),
      recipe: {
        type: 'string',
        maxLength: 16_384,
        description:
          'JSON in a string: {"steps":[{"name":"a","do":"convert","from":["files"],"options":{"to_format":"pdf"}},{"name":"b","do":"merge-pdf","from":["a"]}],"outputs":["b"]}; or the name of one that this server has.',
      },
      options: options('What a named recipe lets you change'),
    } as Properties,
    required: ['files', 'recipe'],
  },
  outputSchema: JOB_OUTPUT,
  annotations: CREATES,
});

const OWN: readonly Tool[] = [
  {
    name: JOB_STATUS,
    title: 'Get job status',
    description:
      'Returns the state of a job or batch that answered "processing", and its result once done. Reads more of a text result. Free.',
    inputSchema: {
      type: 'object',
      properties: {
        job_id: id('job_id or batch_id of the earlier answer.'),
        wait_seconds: { type: 'integer', minimum: 0, maximum: 25, default: 20, description: 'How long to wait for the end of the job.' },
        text_offset: {
          type: 'integer',
          minimum: 0,
          maximum: 1_000_000_000,
          description: 'Reads a text result from this byte on: next_text_offset of the earlier answer.',
        },
        ...SHOWS,
      } as Properties,
      required: ['job_id'],
    },
    outputSchema: STATUS_OUTPUT,
    annotations: READS,
  },
  {
    name: CANCEL_JOB,
    title: 'Cancel job',
    description: 'Stops a job or batch, and deletes its files and results.',
    inputSchema: { type: 'object', properties: { job_id: id('job_id or batch_id.') } as Properties, required: ['job_id'] },
    outputSchema: CANCEL_OUTPUT,
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
  },
  {
    name: LIST_FORMATS,
    title: 'List supported formats',
    description:
      'Lists which formats can be converted to which, and which tools are available. Give source for one format’s targets and their options. Free.',
    inputSchema: {
      type: 'object',
      properties: {
        source: { type: 'string', maxLength: 16, description: 'Extension of the source format, such as docx.' },
        family: { type: 'string', enum: [...families], description: 'Only sources of this family.' },
      },
      required: [],
    },
    outputSchema: FORMATS_OUTPUT,
    annotations: READS,
  },
];
