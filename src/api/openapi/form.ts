/** Request bodies: a form with a file, a URL or an upload id, and every option with its bounds. */
import type { z } from 'zod';
import { fieldSchema, isRequired } from '../../catalog/options/field-schema.ts';
import { optionSchemas } from '../../catalog/options/options.ts';
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

/** One of the three is needed. */
const oneFile = ({ maxFileBytes }: Figures): Fields => ({
  file: { ...FILE, description: `The file, up to ${maxFileBytes} bytes` },
  url: { ...URL, description: 'Instead of the file: where to fetch it, from public addresses only' },
  upload_id: { ...UPLOAD_ID, description: 'Instead of the file: one that was sent to `/api/v1/uploads`' },
});

const severalFiles = (min: number, max: number): Fields => {
  const list = (items: Schema, description: string): Schema => ({ type: 'array', items, minItems: 1, maxItems: max, description });
  return {
    'files[]': list(FILE, `The files, ${min} to ${max}, in order; \`files\` means the same`),
    'urls[]': list(URL, 'Instead of files: where to fetch them'),
    'upload_ids[]': list(UPLOAD_ID, 'Instead of files: some that were sent to `/api/v1/uploads`'),
  };
};

const conversion = (): { fields: Fields; required: readonly string[] } => ({
  fields: {
    to_format: {
      type: 'string',
      pattern: '^[A-Za-z0-9]{2,5}$',
      description: 'Target extension; `GET /api/v1/formats` lists them',
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
  return form({ ...oneFile(figures), ...fields }, required);
}

export function batchForm({ maxBatchFiles }: Figures): Body {
  const { fields, required } = conversion();
  return form({ ...severalFiles(1, maxBatchFiles), ...fields }, required);
}

export function toolForm({ files: { fields, min, max }, input, takesPage }: Tool, figures: Figures): Body {
  const required = Object.keys(input.shape).filter((name) => isRequired(input.shape[name] as z.ZodType));
  const options = fieldsOf(input.shape);
  if (takesPage === true) return pageForm(options, required);
  const sent = { ...(fields.includes('file') ? oneFile(figures) : {}), ...(fields.includes('files[]') ? severalFiles(min, max) : {}) };
  return form({ ...sent, ...options }, required);
}

export const uploadForm = ({ maxFileBytes }: Figures): Body =>
  form({ file: { ...FILE, description: `The file, up to ${maxFileBytes} bytes` } }, ['file']);

const fieldsOf = (shape: Readonly<Record<string, z.ZodType>>): Fields =>
  Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, fieldSchema(field)]));

/** A page's URL and the tool's options, in each of the three media types. */
function pageForm(fields: Fields, required: readonly string[]): Body {
  const page: Schema = { ...URL, description: 'The page, http or https, at a public address' };
  const { content } = form({ url: page, ...fields }, ['url', ...required]);
  const [media] = Object.values(content);
  const types = ['multipart/form-data', 'application/x-www-form-urlencoded', 'application/json'];
  return { required: true, content: media === undefined ? {} : Object.fromEntries(types.map((type) => [type, media])) };
}

const form = (properties: Fields, required: readonly string[]): Body => ({
  required: true,
  content: {
    'multipart/form-data': { schema: { type: 'object', properties, ...(required.length === 0 ? {} : { required: [...required] }) } },
  },
});
