/** Requests that create jobs: conversions, batches and tools. */
import type { Tool } from '../../../catalog/tool.ts';
import { tools } from '../../../catalog/tools.ts';
import { batchForm, convertForm, type Figures, recipeForm, toolForm } from '../form.ts';
import { answerHeaders } from '../headers.ts';
import { refusals } from '../refusals.ts';
import type { Operation, Paths, Response } from '../shape.ts';
import { envelope, parameterRef } from '../shape.ts';

const WORK_PARAMETERS = ['Prefer', 'IdempotencyKey', 'RequestId'].map(parameterRef);
const JOB_PARAMETERS = [parameterRef('Download'), ...WORK_PARAMETERS];

const EXAMPLE = {
  data: {
    job_id: '0123456789abcdef0123456789abcdef',
    status: 'done',
    output: {
      filename: 'report-filemill.pdf',
      save_as: 'report.pdf',
      size_bytes: 18211,
      size_human: '17.8 KB',
      url: 'https://files.example.org/api/v1/jobs/0123456789abcdef0123456789abcdef/output',
      content_type: 'application/pdf',
      files: 1,
      sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    },
    links: {
      self: 'https://files.example.org/api/v1/jobs/0123456789abcdef0123456789abcdef',
      output: 'https://files.example.org/api/v1/jobs/0123456789abcdef0123456789abcdef/output',
    },
    created_at: '2026-01-01T12:00:00.000Z',
    expires_at: '2026-01-01T14:00:01.000Z',
    warnings: [],
    engine: { name: 'LibreOffice', version: '7.4' },
  },
};

/** The job as it is when the wait ends. */
export const jobResponse = (schema: 'Job' | 'TextJob' = 'Job'): Response => ({
  description: 'The job: `done`, or `processing` where it is large or takes longer than the wait.',
  headers: answerHeaders('Location-While-Processing', 'Retry-After-While-Processing', 'Preference-Applied', 'Idempotency-Replayed'),
  content: { 'application/json': { schema: envelope(schema), ...(schema === 'Job' ? { example: EXAMPLE } : {}) } },
  links: Object.fromEntries(
    ['getJob', 'getJobOutput', 'deleteJob'].map((operationId) => [
      operationId,
      { operationId, parameters: { job_id: '$response.body#/data/job_id' } },
    ]),
  ),
});

const SEE_OUTPUT: Response = {
  description: 'With `?download=1`, once done: a redirect to the output.',
  headers: answerHeaders('Location'),
};

export const workPaths = (figures: Figures): Paths => ({
  '/api/v1/convert': {
    post: {
      operationId: 'convert',
      summary: 'Convert a file',
      description:
        'Send one of `file`, `url` and `upload_id`. The service detects the file type by its content. Small files are `done` in the first response; others are `processing`: poll `links.self`, or listen to its `/events`. Options without effect cause warnings, but for defaults; unknown ones cause warnings, which name the nearest, or are refused with `Prefer: handling=strict`; options out of bounds are refused.',
      tags: ['Convert'],
      parameters: JOB_PARAMETERS,
      requestBody: convertForm(figures),
      responses: { 200: jobResponse(), 303: SEE_OUTPUT, ...refusals('Convert') },
    },
  },
  '/api/v1/batch': {
    post: {
      operationId: 'convertBatch',
      summary: 'Convert several files',
      description: `Up to ${figures.maxBatchFiles} files to one format, or fewer files to several formats: one job for each pair, those of the first file first. A file that cannot be converted is an error in its entry; the others continue.`,
      tags: ['Convert'],
      parameters: WORK_PARAMETERS,
      requestBody: batchForm(figures),
      responses: {
        200: {
          description: 'The batch, in the order sent.',
          headers: answerHeaders('Preference-Applied', 'Idempotency-Replayed'),
          content: { 'application/json': { schema: envelope('Batch') } },
          links: Object.fromEntries(
            ['getBatch', 'getBatchOutput', 'deleteBatch'].map((operationId) => [
              operationId,
              { operationId, parameters: { batch_id: '$response.body#/data/batch_id' } },
            ]),
          ),
        },
        ...refusals('Batch'),
      },
    },
  },
  '/api/v1/recipes/run': {
    post: {
      operationId: 'runRecipe',
      summary: 'Run several steps as one job',
      description:
        'Each step is a conversion or a tool, and reads the files that were sent or those of earlier steps. All is validated before anything runs: an error names `step` and `field` in its details. The job has `outputs`, and as `output` the only one or a ZIP of all. Limits count each conversion.',
      tags: ['Recipes'],
      parameters: JOB_PARAMETERS,
      requestBody: recipeForm(figures),
      responses: { 200: jobResponse(), 303: SEE_OUTPUT, ...refusals('Tool') },
    },
  },
  ...Object.fromEntries(tools.map((tool) => [`/api/v1/tools/${tool.slug}`, { post: toolOperation(tool, figures) }])),
  '/api/v1/tools/{slug}': {
    post: {
      operationId: 'callTool',
      summary: 'Call any other tool',
      description: 'A tool that is listed but not available here answers 501, an unknown one 404. `GET /api/v1/tools` lists them.',
      tags: ['Tools'],
      parameters: [
        {
          name: 'slug',
          in: 'path',
          required: true,
          description: 'As `GET /api/v1/tools` lists it.',
          schema: { type: 'string' },
          example: 'flip-image',
        },
        ...JOB_PARAMETERS,
      ],
      requestBody: { required: false, content: { 'multipart/form-data': { schema: { type: 'object' } } } },
      responses: { 200: jobResponse(), 303: SEE_OUTPUT, ...refusals('Tool') },
    },
  },
});

/** Words that are written in capitals. */
const CAPITALS: Readonly<Record<string, string>> = {
  pdf: 'PDF',
  jpg: 'JPG',
  png: 'PNG',
  gif: 'GIF',
  webp: 'WebP',
  og: 'Open Graph',
  '3d': '3D',
};

/** `compress-pdf` as "Compress PDF". */
function titleOf(slug: string): string {
  const words = slug.split('-').map((word) => CAPITALS[word] ?? word);
  const title = words.join(' ');
  return title.slice(0, 1).toUpperCase() + title.slice(1);
}

function toolOperation(tool: Tool, figures: Figures): Operation {
  return {
    operationId: tool.slug.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
    summary: titleOf(tool.slug),
    description: [tool.summary, ...(tool.accepts.length === 0 ? [] : [`Accepts ${tool.accepts.join(', ')}.`])].join(' '),
    tags: ['Tools'],
    parameters: JOB_PARAMETERS,
    requestBody: toolForm(tool, figures),
    responses: { 200: jobResponse(tool.answersText === true ? 'TextJob' : 'Job'), 303: SEE_OUTPUT, ...refusals('Tool') },
  };
}
