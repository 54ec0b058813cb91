/** Request bodies: a form with a file, a URL or an upload id, and every option with its bounds. */
import { z } from 'zod';
import { isRequired } from '../../catalog/options/field-schema.ts';
import { optionSchemas } from '../../catalog/options/options.ts';
import { describedSchema } from '../../catalog/options/texts.ts';
import { RecipeSchema } from '../../catalog/recipes/recipe.ts';
import type { Tool } from '../../catalog/tool.ts';
import type { Media, Schema } from './shape.ts';

interface Body {
  readonly required: boolean;
  readonly content: Readonly<Record<string, Media>>;
}

/** Values that an operator may configure. */
export interface Figures {
  readonly maxFileBytes: number;
  readonly maxBatchFiles: number;
}

type Fields = Readonly<Record<string, Schema>>;

const FILE: Schema = { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' };
const UPLOAD_ID: Schema = { type: 'string', pattern: '^upl_[0-9a-f]{32}$' };
const URL: Schema = { type: 'string', format: 'uri' };

/** Every request that creates jobs has these. */
const MESSAGE: Fields = {
  webhook_url: {
    ...URL,
    maxLength: 2_048,
    description:
      'Where each job is sent when it ends, by POST, as `GET /api/v1/jobs/{job_id}` shows it: https at a public address. Signed by Standard Webhooks, repeated until it is answered with 2xx or 410, or the job expires',
  },
  webhook_secret: {
    type: 'string',
    maxLength: 100,
    pattern: '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$',
    description:
      'Your own secret for its signature (`v1`), 24 to 64 bytes; without it, messages are signed with the keys of this service (`v1a`)',
  },
};

/** Every request that creates a job has these. */
const DESTINATION: Fields = {
  output_url: {
    ...URL,
    maxLength: 3_072,
    description:
      'Where the result is stored before the job is done, by PUT, such as a presigned URL: https at a public address; or an object, `s3://bucket/key`. One result, or a ZIP: a batch of several files takes none. Otherwise the job fails: `OUTPUT_NOT_STORED`',
  },
  s3: {
    type: 'string',
    maxLength: 4_096,
    contentMediaType: 'application/json',
    description:
      'For URLs such as `s3://bucket/key`: `{"endpoint":"https://s3.eu-central-1.amazonaws.com","region":"eu-central-1","access_key_id":"…","secret_access_key":"…"}`, perhaps with `session_token` and `path_style`; or `{"connection":"name"}`',
  },
  output_headers: {
    type: 'string',
    maxLength: 1_024,
    contentMediaType: 'application/json',
    description:
      'Headers of that PUT as a JSON object, such as `{"x-ms-blob-type":"BlockBlob"}`; without a `Content-Type`, it is that of the result',
  },
};

/** One of the three is needed. */
const oneFile = ({ maxFileBytes }: Figures): Fields => ({
  file: { ...FILE, description: `The file, up to ${maxFileBytes} bytes` },
  url: {
    ...URL,
    description:
      'Instead of the file: where to fetch it, from public addresses only; or the output of an earlier job, which is read from the store',
  },
  upload_id: { ...UPLOAD_ID, description: 'Instead of the file: one that was sent to `/api/v1/uploads`' },
});

const severalFiles = (min: number, max: number): Fields => {
  const list = (items: Schema, description: string): Schema => ({ type: 'array', items, minItems: 1, maxItems: max, description });
  return {
    'files[]': list(FILE, `The files, ${min} to ${max}, in order; \`files\` means the same`),
    'urls[]': list(URL, 'Instead of files: where to fetch them; outputs of earlier jobs are read from the store'),
    'upload_ids[]': list(UPLOAD_ID, 'Instead of files: some that were sent to `/api/v1/uploads`'),
  };
};

const conversion = (): { fields: Fields; required: readonly string[] } => ({
  fields: {
    to_format: {
      type: 'string',
      pattern: '^[A-Za-z0-9]{2,5}$',
      description:
        'Target extension; a dot before it, and longer names of a format such as `markdown`, are taken, too. `GET /api/v1/formats` lists them',
      examples: ['png'],
    },
    from_format: {
      type: 'string',
      maxLength: 100,
      description: 'The source’s format, where content alone cannot tell (Markdown or plain text)',
    },
    ...fieldsOf(optionSchemas),
  },
  required: ['to_format'],
});

export function convertForm(figures: Figures): Body {
  const { fields, required } = conversion();
  return form({ ...oneFile(figures), ...fields }, required, true);
}

export function batchForm({ maxBatchFiles }: Figures): Body {
  const { fields, required } = conversion();
  const to_format: Schema = {
    type: 'string',
    examples: ['png', 'png,webp'],
    description: `${fields['to_format']?.['description']}. Several, as in \`png,webp\` or in several fields: each file becomes each of them, ${maxBatchFiles} conversions at most`,
  };
  return form({ ...severalFiles(1, maxBatchFiles), ...fields, to_format }, required, true);
}

export function toolForm(tool: Tool, figures: Figures): Body {
  const {
    files: { fields, min, max },
    input,
    takesPage,
  } = tool;
  const required = Object.keys(input.shape).filter((name) => isRequired(input.shape[name] as z.ZodType));
  const options = fieldsOf(input.shape, tool);
  if (takesPage === true) return pageForm(options, required);
  const sent = { ...(fields.includes('file') ? oneFile(figures) : {}), ...(fields.includes('files[]') ? severalFiles(min, max) : {}) };
  return form({ ...sent, ...options }, required, true);
}

/** A form sends the recipe as text, JSON as an object. */
export function recipeForm({ maxBatchFiles }: Figures): Body {
  const { $schema: _, ...recipe } = z.toJSONSchema(RecipeSchema, { io: 'input' });
  const text: Schema = {
    type: 'string',
    description: 'The recipe as JSON, or the name of one that `GET /api/v1/recipes` lists',
    contentMediaType: 'application/json',
    examples: [EXAMPLE_RECIPE],
  };
  const body = form({ ...severalFiles(1, maxBatchFiles), recipe: text }, ['recipe'], true);
  const json = body.content['application/json'];
  const either = {
    ...json?.schema,
    properties: { ...(json?.schema['properties'] as Fields), recipe: { anyOf: [recipe, text] } },
  } as Schema;
  return { ...body, content: { ...body.content, 'application/json': { schema: either } } };
}

const EXAMPLE_RECIPE = JSON.stringify({ steps: [{ name: 'small', do: 'convert', options: { to_format: 'webp' } }] });

export const uploadForm = ({ maxFileBytes }: Figures): Body =>
  form({ file: { ...FILE, description: `The file, up to ${maxFileBytes} bytes` } }, ['file']);

const fieldsOf = (shape: Readonly<Record<string, z.ZodType>>, tool?: Tool): Fields =>
  Object.fromEntries(
    Object.entries(shape).map(([name, field]) => [name, withExample(describedSchema(name, field, tool), tool?.example?.[name])]),
  );

/** @param sent as a form sends it, which is text: a number or a truth value of JSON reads the same */
function withExample(schema: Schema, sent: string | undefined): Schema {
  if (sent === undefined) return schema;
  const isText = schema['type'] === undefined || schema['type'] === 'string';
  return { ...schema, examples: [isText ? sent : JSON.parse(sent)] };
}

/** A page's URL and the tool's options, in each of the three media types. */
const pageForm = (fields: Fields, required: readonly string[]): Body =>
  form({ url: { ...URL, description: 'The page, http or https, at a public address' }, ...fields }, ['url', ...required], true);

const WITHOUT_FILES = ['application/x-www-form-urlencoded', 'application/json'];

/** @param takesNames the file may be named by a field, so that the body need not be multipart: then it holds no file itself */
function form(fields: Fields, required: readonly string[], takesNames = false): Body {
  // A request that may name files creates jobs.
  const properties = takesNames ? { ...fields, ...MESSAGE, ...DESTINATION } : fields;
  const media = (fields: Fields): Media => ({
    schema: { type: 'object', properties: fields, ...(required.length === 0 ? {} : { required: [...required] }) },
  });
  const named = media(Object.fromEntries(Object.entries(properties).flatMap(namedField)));
  return {
    required: true,
    content: {
      'multipart/form-data': media(properties),
      ...(takesNames ? Object.fromEntries(WITHOUT_FILES.map((type) => [type, named])) : {}),
    },
  };
}

/** Without files; lists have the names that read well in JSON. */
const namedField = ([name, schema]: readonly [string, Schema]): (readonly [string, Schema])[] =>
  name === 'file' || name === 'files[]' ? [] : [[name.replace('[]', ''), schema]];
